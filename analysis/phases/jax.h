// SPDX-License-Identifier: Apache-2.0

// Phases that do not follow from JAX's names in a module with gradients.
//
// - Since 0.7 every differentiated op is marked. So an unmarked op lies outside of the
//   differentiation: optimizer, metrics, or work hoisted out of a loop.
// - Until 0.6, transforms mark only ops inside of a scope. An unmarked op that leads to marked work
//   is forward, loss or backward by its dependences. All other unmarked ops belong to the
//   optimizer.
// - Until 0.4.2x, a component `remat/` means either recomputation or backward work.

#ifndef XLATRACE_ANALYSIS_PHASES_JAX_H_
#define XLATRACE_ANALYSIS_PHASES_JAX_H_

#include "analysis/phases/draft.h"
#include "analysis/phases/relations.h"

namespace xlatrace::analysis::phases {

// JAX 0.7 and later. An op that marked work uses stays undecided and gets the phase of its user.
void DecideUnmarkedJax(Draft& draft, const Relations& relations);

// JAX until 0.6.
void DecideUnmarkedOldJax(Draft& draft, const Relations& relations);

// In an old `remat/`, an op that the forward pass uses is the op that recomputation repeats,
// because XLA merged the two. It depends on no gradient, so call this function before relations are
// computed.
void DecideMergedRemat(Draft& draft);

// In an old `remat/`, ops that do not depend on a cotangent are recomputation.
void DecideOldRemat(Draft& draft);

}  // namespace xlatrace::analysis::phases

#endif  // XLATRACE_ANALYSIS_PHASES_JAX_H_
