// SPDX-License-Identifier: Apache-2.0

// Small helpers to build inputs and to look into what was read.

#ifndef XLATRACE_TESTS_HLO_TEST_DATA_H_
#define XLATRACE_TESTS_HLO_TEST_DATA_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "model/hlo_module.h"
#include "tests/shared_data.h"

namespace xlatrace::hlo {

inline std::shared_ptr<const std::string> Shared(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

inline const model::Instruction& Find(const model::HloModule& module, std::string_view name) {
  static const model::Instruction missing;
  for (const model::Instruction& instruction : module.instructions) {
    if (instruction.name == name) return instruction;
  }
  ADD_FAILURE() << "no instruction " << name;
  return missing;
}

inline std::vector<std::string> OperandNames(const model::HloModule& module,
                                             std::string_view name) {
  std::vector<std::string> names;
  for (const uint32_t operand : module.Operands(Find(module, name))) {
    names.emplace_back(module.instructions[operand].name);
  }
  return names;
}

inline std::vector<std::string> CalleeNames(const model::HloModule& module, std::string_view name) {
  std::vector<std::string> names;
  for (const uint32_t callee : module.CalledComputations(Find(module, name))) {
    names.emplace_back(module.computations[callee].name);
  }
  return names;
}

// Every index in range, operands within their computation, names of computations unique.
inline void ExpectSound(const model::HloModule& module) {
  ASSERT_LT(module.entry, module.computations.size());
  for (size_t c = 0; c < module.computations.size(); ++c) {
    const model::Computation& computation = module.computations[c];
    const uint32_t first = computation.first_instruction;
    const uint32_t end = first + computation.instruction_count;
    ASSERT_LE(end, module.instructions.size());
    ASSERT_GE(computation.root, first);
    ASSERT_LT(computation.root, end);
    for (const model::Instruction& instruction : module.InstructionsOf(computation)) {
      ASSERT_EQ(instruction.computation, c);
      for (const uint32_t operand : module.Operands(instruction)) {
        ASSERT_GE(operand, first);
        ASSERT_LT(operand, end);
      }
      for (const uint32_t callee : module.CalledComputations(instruction)) {
        ASSERT_LT(callee, module.computations.size());
      }
      ASSERT_LE(instruction.metadata.stack_frame, module.stack_frames.size());
    }
  }
  for (size_t i = 0; i < module.stack_frames.size(); ++i) {
    ASSERT_LE(module.stack_frames[i].parent, i);
  }
}

}  // namespace xlatrace::hlo

#endif  // XLATRACE_TESTS_HLO_TEST_DATA_H_
