// SPDX-License-Identifier: Apache-2.0

// Operations and bytes of cuDNN's fused attention calls, which XLA's cost model does not cover.
//
// Scores are batch x heads x queries x keys (backend_config: intermediate_tensor_shape). Forward is
// two products over the scores. Backward is five, because it computes the scores again. A causal
// mask halves both, because the kernels skip masked scores. Bytes count operands and results once,
// without workspace, because the scores never reach memory. Thread-safety: pure.

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

// Empty for other instructions, and if the shapes do not fit together.
std::optional<AttentionCost> CostOfAttention(const model::HloModule& module,
                                             const model::Instruction& instruction);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_ATTENTION_COST_H_
