// SPDX-License-Identifier: Apache-2.0

// What JAX's names leave open in a module with gradients.
//
// - Since 0.7 every differentiated op is marked, so what is unmarked lies outside of the
//   differentiation: optimizer, metrics, or work hoisted out of a loop.
// - Until 0.6 transforms mark ops inside of a scope only: what leads to marked work is forward,
// loss
//   or backward by what it depends on, and what is left is the optimizer's.
// - Until 0.4.2x a `remat/` component stands for recomputation and backward work alike.

#ifndef XLATRACE_ANALYSIS_PHASES_JAX_H_
#define XLATRACE_ANALYSIS_PHASES_JAX_H_

#include "analysis/phases/draft.h"
#include "analysis/phases/relations.h"

namespace xlatrace::analysis::phases {

// JAX 0.7 and later. What marked work uses stays open: it gets its user's phase.
void DecideUnmarkedJax(Draft& draft, const Relations& relations);

// JAX until 0.6.
void DecideUnmarkedOldJax(Draft& draft, const Relations& relations);

// In an old `remat/`, what the forward pass uses is the op that the recomputation repeats; XLA has
// merged the two. It carries no gradient, so this comes before relations are looked at.
void DecideMergedRemat(Draft& draft);

// In an old `remat/`, what does not depend on a cotangent is recomputation.
void DecideOldRemat(Draft& draft);

}  // namespace xlatrace::analysis::phases

#endif  // XLATRACE_ANALYSIS_PHASES_JAX_H_
