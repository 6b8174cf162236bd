// SPDX-License-Identifier: Apache-2.0
#include "correlator/computation_roles.h"

#include <algorithm>
#include <array>

namespace xlatrace::correlator {
namespace {

template <size_t N>
bool OneOf(std::string_view text, const std::array<std::string_view, N>& list) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

}  // namespace

bool IsControlFlow(std::string_view opcode) {
  static constexpr auto kOpcodes = std::to_array<std::string_view>(
      {"while", "conditional", "call", "async-start", "async-update", "async-done"});
  return OneOf(opcode, kOpcodes);
}

bool TakesNoTime(std::string_view opcode) {
  static constexpr auto kOpcodes = std::to_array<std::string_view>(
      {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all",
       "add-dependency", "domain", "opt-barrier"});
  return OneOf(opcode, kOpcodes);
}

std::vector<ComputationUse> ClassifyComputations(const model::HloModule& module) {
  std::vector<ComputationUse> uses(module.computations.size());
  if (module.entry >= uses.size()) return uses;
  uses[module.entry].role = ComputationRole::kLaunched;
  std::vector<uint32_t> pending = {module.entry};
  // A role never becomes weaker, so a computation is visited at most three times.
  while (!pending.empty()) {
    const uint32_t at = pending.back();
    pending.pop_back();
    const model::Computation& computation = module.computations[at];
    for (uint32_t i = 0; i < computation.instruction_count; ++i) {
      const uint32_t index = computation.first_instruction + i;
      const model::Instruction& instruction = module.instructions[index];
      ComputationRole role = uses[at].role;
      if (instruction.opcode == "fusion") {
        role = std::min(role, ComputationRole::kFused);
      } else if (!IsControlFlow(instruction.opcode)) {
        role = ComputationRole::kApplied;
      }
      for (const uint32_t callee : module.CalledComputations(instruction)) {
        if (callee >= uses.size() || uses[callee].role >= role) continue;
        uses[callee] = {role, index};
        pending.push_back(callee);
      }
    }
  }
  return uses;
}

}  // namespace xlatrace::correlator
