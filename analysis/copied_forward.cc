// SPDX-License-Identifier: Apache-2.0
#include "analysis/copied_forward.h"

#include <set>
#include <string_view>
#include <utility>

namespace xlatrace::analysis {
namespace {

using model::HloModule;
using model::Phase;

using OpKey = std::pair<std::string_view, std::string_view>;  // op_name, opcode.

bool CountsAsWork(std::string_view opcode) {
  return opcode != "parameter" && opcode != "constant" && opcode != "tuple" &&
         opcode != "get-tuple-element" && opcode != "bitcast" && opcode != "broadcast";
}

}  // namespace

std::vector<uint32_t> FindCopiedForward(const HloModule& module, const std::vector<Phase>& phases) {
  std::vector<bool> has_backward(module.computations.size(), false);
  for (size_t i = 0; i < module.instructions.size(); ++i) {
    const uint32_t computation = module.instructions[i].computation;
    if (phases[i] == Phase::kBackward && computation < has_backward.size()) {
      has_backward[computation] = true;
    }
  }
  // What is computed where no backward work is.
  std::set<OpKey> elsewhere;
  for (size_t i = 0; i < module.instructions.size(); ++i) {
    const model::Instruction& instruction = module.instructions[i];
    if (phases[i] != Phase::kForward || instruction.metadata.op_name.empty()) continue;
    if (instruction.computation >= module.computations.size()) continue;
    const bool fused = module.computations[instruction.computation].is_fusion;
    if (fused && has_backward[instruction.computation]) continue;
    if (!fused && instruction.opcode == "fusion") continue;  // Its body tells.
    elsewhere.insert({instruction.metadata.op_name, instruction.opcode});
  }
  std::vector<uint32_t> copies;
  std::vector<bool> leads(module.instructions.size(), false);  // To backward work of its body.
  for (size_t c = 0; c < module.computations.size(); ++c) {
    const model::Computation& body = module.computations[c];
    if (!body.is_fusion || !has_backward[c]) continue;
    // Operands come before their users.
    for (uint32_t k = body.instruction_count; k-- > 0;) {
      const uint32_t node = body.first_instruction + k;
      if (phases[node] != Phase::kBackward && !leads[node]) continue;
      for (const uint32_t operand : module.Operands(module.instructions[node])) {
        if (operand < leads.size() && module.instructions[operand].computation == c) {
          leads[operand] = true;
        }
      }
    }
    for (uint32_t k = 0; k < body.instruction_count; ++k) {
      const uint32_t node = body.first_instruction + k;
      const model::Instruction& instruction = module.instructions[node];
      if (!leads[node] || phases[node] != Phase::kForward || !CountsAsWork(instruction.opcode)) {
        continue;
      }
      if (elsewhere.contains({instruction.metadata.op_name, instruction.opcode})) {
        copies.push_back(node);
      }
    }
  }
  return copies;
}

}  // namespace xlatrace::analysis
