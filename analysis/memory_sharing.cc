// SPDX-License-Identifier: Apache-2.0
#include "analysis/memory_sharing.h"

#include <string_view>
#include <vector>

#include "hlo/cost/cost_opcode.h"
#include "hlo/shape.h"

namespace xlatrace::analysis {
namespace {

using model::HloModule;
using model::Instruction;
using model::kNoIndex;

bool IsView(std::string_view opcode) { return opcode == "bitcast" || opcode == "reshape"; }

// The instruction that computes `leaf` of the root of a fused computation.
uint32_t OutputOf(const HloModule& module, const model::Computation& body, size_t leaf) {
  if (body.root == kNoIndex) return kNoIndex;
  const Instruction& root = module.instructions[body.root];
  if (root.opcode != "tuple") return leaf == 0 ? body.root : kNoIndex;
  return leaf < root.operands.size ? module.Operands(root)[leaf] : kNoIndex;
}

// The parameter is updated in place: dynamic-update-slice or scatter of it, behind views only.
bool UpdatesInPlace(const HloModule& module, uint32_t output, uint32_t parameter) {
  const auto behind_views = [&](uint32_t i) {
    while (IsView(module.instructions[i].opcode) && module.instructions[i].operands.size > 0) {
      i = module.Operands(module.instructions[i])[0];
    }
    return i;
  };
  const Instruction& update = module.instructions[behind_views(output)];
  if (update.opcode != "dynamic-update-slice" && update.opcode != "scatter") return false;
  return update.operands.size > 0 && behind_views(module.Operands(update)[0]) == parameter;
}

// Every way from the parameter to a result goes element by element.
bool ElementByElement(const HloModule& module, const model::Computation& body, uint32_t parameter) {
  const int64_t elements = hlo::ElementCount(module.instructions[parameter].shape);
  std::vector<bool> from(body.instruction_count, false);
  from[parameter - body.first_instruction] = true;
  for (uint32_t k = 0; k < body.instruction_count; ++k) {
    const Instruction& instruction = module.instructions[body.first_instruction + k];
    bool reads = false;
    for (const uint32_t operand : module.Operands(instruction)) {
      reads = reads || (operand >= body.first_instruction && operand - body.first_instruction < k &&
                        from[operand - body.first_instruction]);
    }
    if (!reads || instruction.opcode == "tuple") continue;
    if (!hlo::IsElementwiseOpcode(instruction.opcode) && !IsView(instruction.opcode)) return false;
    if (hlo::ElementCount(instruction.shape) != elements) return false;
    from[k] = true;
  }
  return true;
}

// The parameter of a fused computation that stands for an operand; kNoIndex: none.
uint32_t ParameterOf(const HloModule& module, const model::Computation& body, size_t operand) {
  for (uint32_t k = 0; k < body.instruction_count; ++k) {
    const Instruction& instruction = module.instructions[body.first_instruction + k];
    if (instruction.opcode == "parameter" &&
        instruction.parameter_number == static_cast<int64_t>(operand)) {
      return body.first_instruction + k;
    }
  }
  return kNoIndex;
}

}  // namespace

bool UpdatesOperand(const HloModule& module, uint32_t instruction, size_t leaf, size_t operand) {
  const Instruction& self = module.instructions[instruction];
  if (self.opcode == "dynamic-update-slice" || self.opcode == "scatter") {
    return operand == 0 && leaf == 0;
  }
  const auto called = module.CalledComputations(self);
  if (self.opcode != "fusion" || called.empty()) return false;
  const model::Computation& body = module.computations[called[0]];
  const uint32_t output = OutputOf(module, body, leaf);
  const uint32_t parameter = ParameterOf(module, body, operand);
  return output != kNoIndex && parameter != kNoIndex && UpdatesInPlace(module, output, parameter);
}

bool CanShareMemory(const HloModule& module, uint32_t instruction, size_t leaf, size_t operand) {
  if (UpdatesOperand(module, instruction, leaf, operand)) return true;
  const Instruction& self = module.instructions[instruction];
  const std::string_view opcode = self.opcode;
  if (opcode == "fusion") {
    const auto called = module.CalledComputations(self);
    if (self.fusion_kind != "kLoop" || called.empty()) return false;
    const model::Computation& body = module.computations[called[0]];
    const uint32_t parameter = ParameterOf(module, body, operand);
    return parameter != kNoIndex && ElementByElement(module, body, parameter);
  }
  if (opcode == "all-reduce" || opcode == "all-reduce-start" || opcode == "sort") {
    return leaf == operand;
  }
  if (!hlo::IsElementwiseOpcode(opcode)) return false;
  const Instruction& read = module.instructions[module.Operands(self)[operand]];
  return hlo::ElementCount(read.shape) == hlo::ElementCount(self.shape);
}

}  // namespace xlatrace::analysis
