// SPDX-License-Identifier: Apache-2.0

// Why a row changed, each cause with the evidence that is in the rows.
//
// Thread-safety: pure.

#ifndef XLATRACE_COMPARE_CAUSES_H_
#define XLATRACE_COMPARE_CAUSES_H_

#include <vector>

#include "compare/comparison.h"

namespace xlatrace::compare {

// The weightiest first; empty where nothing changed at all.
// Time of an execution, after by before; 0: not known.
double EachRatio(const Row& row);

std::vector<Cause> CausesOf(const Run& base, const Run& now, const Row& row);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_CAUSES_H_
