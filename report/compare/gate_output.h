// SPDX-License-Identifier: Apache-2.0

// The result of `gate` for a terminal, a pull request, a CI system and other programs.
//
// Thread-safety: pure.

#ifndef XLATRACE_REPORT_COMPARE_GATE_OUTPUT_H_
#define XLATRACE_REPORT_COMPARE_GATE_OUTPUT_H_

#include <string>
#include <vector>

#include "compare/gate.h"

namespace xlatrace::report {

// Wrapped at `width` columns.
std::string GateText(const compare::GateResult& result, bool ascii, int width);
std::string GateMarkdown(const compare::GateResult& result);
std::string GateJson(const compare::GateResult& result);
// One test case per check. A check without a result is reported as skipped, or as failed if
// `strict`.
std::string GateJunit(const compare::GateResult& result, bool strict);

// The runs of a baseline in the order in which they were added, at most the last 40,
// with a sparkline of all. From 20 runs on, changes of the level of step times are marked.
std::string HistoryText(const std::vector<compare::RunRecord>& records, bool ascii);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_COMPARE_GATE_OUTPUT_H_
