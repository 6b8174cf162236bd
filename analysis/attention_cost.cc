// SPDX-License-Identifier: Apache-2.0
#include "analysis/attention_cost.h"

#include <string_view>
#include <vector>

#include "hlo/backend_config.h"
#include "hlo/shape.h"

namespace xlatrace::analysis {
namespace {

// False when the product does not fit.
bool Multiply(int64_t* product, int64_t factor) {
  return factor > 0 && !__builtin_mul_overflow(*product, factor, product);
}

std::optional<int64_t> Moved(const model::HloModule& module, const model::Instruction& call) {
  int64_t bytes = 0;
  for (const uint32_t operand : module.Operands(call)) {
    const int64_t size = hlo::ByteSize(module.instructions[operand].shape);
    if (__builtin_add_overflow(bytes, size, &bytes)) return std::nullopt;
  }
  for (const hlo::ArrayShape& result : hlo::Leaves(call.shape)) {
    if (result.type == "u8") continue;  // Workspace.
    if (__builtin_add_overflow(bytes, result.bytes(), &bytes)) return std::nullopt;
  }
  return bytes;
}

}  // namespace

std::optional<AttentionCost> CostOfAttention(const model::HloModule& module,
                                             const model::Instruction& instruction) {
  if (!instruction.custom_call_target.starts_with("__cudnn$fmha")) return std::nullopt;
  const std::string_view config = instruction.backend_config;
  const size_t scores = config.find("intermediate_tensor_shape");
  const auto operands = module.Operands(instruction);
  if (scores == std::string_view::npos || operands.empty()) return std::nullopt;
  const auto dims = hlo::JsonNumbers(config.substr(scores), "dimensions");
  if (!dims || dims->size() != 4) return std::nullopt;

  // The head's size: the dimensions of the queries other than batch, heads and sequence.
  int64_t rows = 1;
  for (size_t i = 0; i < 3; ++i) {
    if (!Multiply(&rows, (*dims)[i])) return std::nullopt;
  }
  const int64_t queries = hlo::FirstLeaf(module.instructions[operands[0]].shape).elements();
  if (queries <= 0 || queries % rows != 0) return std::nullopt;

  const bool backward = instruction.custom_call_target.find("Backward") != std::string_view::npos;
  int64_t flops = queries;  // batch x heads x queries x head size
  if (!Multiply(&flops, (*dims)[3]) || !Multiply(&flops, backward ? 2 * 5 : 2 * 2)) {
    return std::nullopt;
  }
  if (config.find("CAUSAL") != std::string_view::npos) flops /= 2;
  const std::optional<int64_t> bytes = Moved(module, instruction);
  if (!bytes) return std::nullopt;
  return AttentionCost{flops, *bytes};
}

}  // namespace xlatrace::analysis
