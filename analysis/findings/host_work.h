// SPDX-License-Identifier: Apache-2.0

// The user's function or range that the device waits for most.
//
// Thread-safety: pure functions of the context.

#ifndef XLATRACE_ANALYSIS_FINDINGS_HOST_WORK_H_
#define XLATRACE_ANALYSIS_FINDINGS_HOST_WORK_H_

#include <string>
#include <string_view>
#include <vector>

#include "analysis/findings/context.h"
#include "analysis/findings/idle.h"
#include "analysis/findings/report.h"

namespace xlatrace::analysis::findings {

// `host_gap` or `input_bound`, at most three: named children of the idle time of the time tree.
// Returns the gaps that these findings claim.
GapClaims ReportHostWork(const Context& context, const std::vector<Gap>& gaps, Report& report);

// "env_step" of "$rl.py:10 env_step" and of "rl.py(10): env_step".
std::string FunctionOf(std::string_view name);

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_HOST_WORK_H_
