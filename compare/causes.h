// SPDX-License-Identifier: Apache-2.0

// Why a row changed, each cause with the evidence that is in the rows.
//
// Thread-safety: pure.

#ifndef XLATRACE_COMPARE_CAUSES_H_
#define XLATRACE_COMPARE_CAUSES_H_

#include <vector>

#include "compare/comparison.h"

namespace xlatrace::compare {

// Ratio of the time of an execution, NEW to BASE; 0: not known.
double EachRatio(const Row& row);

// Causes of the change of a row, ordered by weight; empty if nothing changed.
std::vector<Cause> CausesOf(const Run& base, const Run& now, const Row& row);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_CAUSES_H_
