// SPDX-License-Identifier: Apache-2.0

// Finds instructions that are named as recomputation but computed only once.
//
// jax.checkpoint computes forward work again for backward. XLA may merge the two copies, because it
// removes the optimization_barrier between them before its last passes (xla/service/cpu and gpu
// compilers). The merged instruction may have the name of either copy. An instruction that forward
// work needs is not computed a second time, under any name: it would also exist without the
// checkpoint.
//
// Thread-safety: pure function. Linear in the instructions and operands of modules that recompute.

#ifndef XLATRACE_ANALYSIS_MERGED_RECOMPUTE_H_
#define XLATRACE_ANALYSIS_MERGED_RECOMPUTE_H_

#include <vector>

#include "model/derived.h"

namespace xlatrace::analysis {

// By position: true for an instruction of phase recompute that leads, within its computation, to
// forward or loss work without a gradient as operand. False for copies that XLA made itself
// (`.remat`), because their original also exists.
std::vector<bool> FindMergedRecompute(const std::vector<model::InstructionRow>& instructions);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_MERGED_RECOMPUTE_H_
