// SPDX-License-Identifier: Apache-2.0

// Whole runs without steps: detects that one of them repeated all work more often, because it is
// longer or did more work per second.
//
// Thread-safety: pure.

#ifndef XLATRACE_COMPARE_REPEATED_WORK_H_
#define XLATRACE_COMPARE_REPEATED_WORK_H_

#include <optional>

#include "compare/changes.h"

namespace xlatrace::compare {

// The ratio (NEW to BASE) that most of the work shares; 0: none, or the runs have steps.
double RepetitionRatio(const Run& base, const Run& now, const Comparison& comparison);

// True if only the number of executions of the row changed, by that ratio. False if the ratio is 0.
bool IsRepetition(const Row& row, double ratio);

// All such rows as one change; nullopt if the ratio is 0.
std::optional<Change> RepetitionChange(const Run& base, const Run& now,
                                       const Comparison& comparison, double ratio);

// True if the recordings are equally long within 2 %. False if a length is not known.
bool SameSpan(const Run& base, const Run& now);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_REPEATED_WORK_H_
