// SPDX-License-Identifier: Apache-2.0

// Of the instructions that are named as recomputation: which are computed only once.
//
// jax.checkpoint has forward work computed again for backward. Where XLA finds the two alike (the
// optimization_barrier between them goes before its last passes, xla/service/cpu and gpu
// compilers), it merges them, and what is left may carry the name of either. What forward work
// needs is not computed a second time, whatever it is called: without the checkpoint it would be
// there just the same.
//
// Thread-safety: pure function. Linear in the instructions and operands of modules that recompute.

#ifndef XLATRACE_ANALYSIS_MERGED_RECOMPUTE_H_
#define XLATRACE_ANALYSIS_MERGED_RECOMPUTE_H_

#include <vector>

#include "model/derived.h"

namespace xlatrace::analysis {

// By position: true of what has phase recompute and leads, within its computation, to forward or
// loss work that depends on no gradient. Never of copies that XLA made itself (`.remat`): their
// original is there, too.
std::vector<bool> FindMergedRecompute(const std::vector<model::InstructionRow>& instructions);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_MERGED_RECOMPUTE_H_
