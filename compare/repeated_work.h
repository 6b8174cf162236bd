// SPDX-License-Identifier: Apache-2.0

// Whole runs without steps: one of them did everything so many times as often, because it is longer
// or because it did more in a second.
//
// Thread-safety: pure.

#ifndef XLATRACE_COMPARE_REPEATED_WORK_H_
#define XLATRACE_COMPARE_REPEATED_WORK_H_

#include <optional>

#include "compare/changes.h"

namespace xlatrace::compare {

// The ratio (NEW's over BASE's) that most of the work shares; 0: none, or the runs have steps.
double RepetitionRatio(const Run& base, const Run& now, const Comparison& comparison);

// The row changed by that ratio of its executions and by nothing else. False where it is 0.
bool IsRepetition(const Row& row, double ratio);

// All such rows as one change; nothing where the ratio is 0.
std::optional<Change> RepetitionChange(const Run& base, const Run& now,
                                       const Comparison& comparison, double ratio);

// The recordings are equally long, by 2 %. False where a length is not known.
bool SameSpan(const Run& base, const Run& now);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_REPEATED_WORK_H_
