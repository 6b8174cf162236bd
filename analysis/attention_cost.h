// SPDX-License-Identifier: Apache-2.0

// What cuDNN's fused attention computes and moves; XLA's cost model does not know these calls.
//
// Forward is two products over the scores (batch x heads x queries x keys, in the backend_config as
// intermediate_tensor_shape), backward five, since it computes the scores again; a causal mask
// halves both, as the kernels skip what is masked. Bytes are operands and results once, without
// workspace: the scores never reach memory. Thread-safety: pure.

#ifndef XLATRACE_ANALYSIS_ATTENTION_COST_H_
#define XLATRACE_ANALYSIS_ATTENTION_COST_H_

#include <cstdint>
#include <optional>

#include "model/hlo_module.h"

namespace xlatrace::analysis {

struct AttentionCost {
  int64_t flops = 0;
  int64_t bytes = 0;
};

// Nothing for other instructions, and where the shapes do not fit together.
std::optional<AttentionCost> CostOfAttention(const model::HloModule& module,
                                             const model::Instruction& instruction);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_ATTENTION_COST_H_
