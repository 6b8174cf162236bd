// SPDX-License-Identifier: Apache-2.0
#include "hlo/instruction_text.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "hlo/module_summary.h"

namespace xlatrace::hlo {
namespace {

constexpr size_t kMaxShownOperands = 6;

}  // namespace

std::string ShortText(const model::HloModule& module, const model::Instruction& instruction) {
  std::string text =
      fmt::format("{}{} = {} {}(", instruction.is_root ? "ROOT " : "", instruction.name,
                  WithoutLayout(instruction.shape), instruction.opcode);
  if (instruction.opcode == "parameter") {
    text += fmt::format("{}", instruction.parameter_number);
  }
  const auto operands = module.Operands(instruction);
  for (size_t k = 0; k < operands.size(); ++k) {
    if (k == kMaxShownOperands) {
      text += fmt::format(", and {} more", operands.size() - k);
      break;
    }
    text += fmt::format("{}{}", k == 0 ? "" : ", ", module.instructions[operands[k]].name);
  }
  text += ')';
  if (!instruction.fusion_kind.empty()) text += fmt::format(", kind={}", instruction.fusion_kind);
  if (!instruction.custom_call_target.empty()) {
    text += fmt::format(", target={}", instruction.custom_call_target);
  }
  const auto called = module.CalledComputations(instruction);
  for (size_t c = 0; c < called.size() && c < 2; ++c) {
    text += fmt::format(", calls {}", module.computations[called[c]].name);
  }
  return text;
}

std::optional<int64_t> LineOf(const model::HloModule& module,
                              const model::Instruction& instruction) {
  if (module.buffer == nullptr) return std::nullopt;
  const char* const begin = module.buffer->data();
  const char* const end = begin + module.buffer->size();
  const char* const at = instruction.name.data();
  // std::less orders pointers of different objects too: names may be made up, or of a proto.
  if (std::less<>()(at, begin) || !std::less<>()(at, end)) return std::nullopt;
  if (instruction.id != 0) return std::nullopt;  // Read from a proto.
  return 1 + std::count(begin, at, '\n');
}

}  // namespace xlatrace::hlo
