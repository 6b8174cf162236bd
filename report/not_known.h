// SPDX-License-Identifier: Apache-2.0

// Limits of the recording: facts that its data does not contain, each with the affected time.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_REPORT_NOT_KNOWN_H_
#define XLATRACE_REPORT_NOT_KNOWN_H_

#include <vector>

#include "report/run_view.h"
#include "report/sentence.h"

namespace xlatrace::report {

std::vector<Sentence> NotKnown(const RunView& view);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_NOT_KNOWN_H_
