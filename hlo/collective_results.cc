// SPDX-License-Identifier: Apache-2.0
#include "hlo/collective_results.h"

#include <algorithm>
#include <string_view>

#include "hlo/opcode.h"
#include "hlo/shape.h"

namespace xlatrace::hlo {
namespace {

using model::HloModule;
using model::Instruction;
using model::kNoIndex;

// Bodies of view fusions hold a few instructions.
constexpr uint32_t kMaxViewBody = 64;

bool IsCollective(std::string_view opcode) {
  return InfoOf(BaseOpcode(opcode)).work == OpWork::kCollective;
}

bool StartsCollective(const HloModule& module, const Instruction& instruction) {
  if (instruction.opcode != "async-start") {
    return IsCollective(instruction.opcode) && !instruction.opcode.ends_with("-done");
  }
  const auto called = module.CalledComputations(instruction);
  if (called.size() != 1 || called[0] >= module.computations.size()) return false;
  const uint32_t root = module.computations[called[0]].root;
  return root < module.instructions.size() && IsCollective(module.instructions[root].opcode);
}

bool IsOnlyViews(const HloModule& module, const Instruction& instruction) {
  if (IsView(instruction.opcode) || instruction.opcode.ends_with("-done") ||
      instruction.opcode == "async-update") {
    return true;
  }
  const auto called = module.CalledComputations(instruction);
  if (instruction.opcode != "fusion" || called.size() != 1) return false;
  if (called[0] >= module.computations.size()) return false;
  const model::Computation& body = module.computations[called[0]];
  const auto instructions = module.InstructionsOf(body);
  return body.instruction_count <= kMaxViewBody &&
         std::all_of(instructions.begin(), instructions.end(), [](const Instruction& inner) {
           return IsView(inner.opcode) || InfoOf(inner.opcode).work == OpWork::kNone;
         });
}

}  // namespace

std::unordered_map<uint32_t, std::vector<NamedResult>> NamedCollectiveResults(
    const HloModule& module) {
  std::unordered_map<uint32_t, std::vector<NamedResult>> results;
  std::unordered_map<uint32_t, uint32_t> carried;  // By nameless view: the collective.
  for (uint32_t i = 0; i < module.instructions.size(); ++i) {
    const Instruction& instruction = module.instructions[i];
    const bool named = !instruction.metadata.op_name.empty();
    if (!named && StartsCollective(module, instruction)) {
      carried.emplace(i, i);
      continue;
    }
    if (carried.empty() || !IsOnlyViews(module, instruction)) continue;
    for (const uint32_t operand : module.Operands(instruction)) {
      const auto from = carried.find(operand);
      if (from == carried.end()) continue;
      if (named) {
        results[from->second].push_back({i, ByteSize(instruction.shape)});
      } else {
        carried.emplace(i, from->second);
      }
      break;
    }
  }
  return results;
}

}  // namespace xlatrace::hlo
