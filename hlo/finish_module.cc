// SPDX-License-Identifier: Apache-2.0
#include "hlo/finish_module.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/hash.h"

namespace xlatrace::hlo {
namespace {

using model::Computation;
using model::HloModule;
using model::Instruction;
using model::kNoIndex;

// Kahn's algorithm within one computation; only called when some operand does not come before its
// user, which for real modules it always does.
bool HasOperandCycle(const HloModule& module, const Computation& computation) {
  const uint32_t first = computation.first_instruction;
  const uint32_t count = computation.instruction_count;
  std::vector<uint32_t> missing(count);
  std::vector<uint32_t> user_begin(count + 1, 0);
  for (const Instruction& instruction : module.InstructionsOf(computation)) {
    for (const uint32_t operand : module.Operands(instruction)) ++user_begin[operand - first + 1];
  }
  for (uint32_t i = 0; i < count; ++i) user_begin[i + 1] += user_begin[i];
  std::vector<uint32_t> users(user_begin[count]);
  std::vector<uint32_t> fill(user_begin.begin(), user_begin.end() - 1);
  std::vector<uint32_t> ready;
  for (uint32_t i = 0; i < count; ++i) {
    const auto operands = module.Operands(module.instructions[first + i]);
    missing[i] = static_cast<uint32_t>(operands.size());
    if (operands.empty()) ready.push_back(i);
    for (const uint32_t operand : operands) users[fill[operand - first]++] = i;
  }
  uint32_t done = 0;
  while (!ready.empty()) {
    const uint32_t at = ready.back();
    ready.pop_back();
    ++done;
    for (uint32_t u = user_begin[at]; u < user_begin[at + 1]; ++u) {
      if (--missing[users[u]] == 0) ready.push_back(users[u]);
    }
  }
  return done != count;
}

Status CheckOperands(const HloModule& module) {
  for (const Computation& computation : module.computations) {
    bool ordered = true;
    for (uint32_t i = 0; i < computation.instruction_count && ordered; ++i) {
      const uint32_t at = computation.first_instruction + i;
      for (const uint32_t operand : module.Operands(module.instructions[at])) {
        ordered = ordered && operand < at;
      }
    }
    if (!ordered && HasOperandCycle(module, computation)) {
      return MakeError(fmt::format("operands of computation '{}' form a cycle", computation.name));
    }
  }
  return {};
}

// Depth-first over the call graph with an explicit stack: damaged files can chain calls as deep as
// they are long.
Status CheckCalls(const HloModule& module) {
  enum : uint8_t { kNew, kOpen, kDone };
  struct Open {
    uint32_t computation;
    uint32_t instruction;  // Next one to look at.
    uint32_t call;         // Next callee of the instruction.
  };
  std::vector<uint8_t> state(module.computations.size(), kNew);
  std::vector<Open> stack;
  for (uint32_t start = 0; start < module.computations.size(); ++start) {
    if (state[start] != kNew) continue;
    state[start] = kOpen;
    stack.push_back({start, module.computations[start].first_instruction, 0});
    while (!stack.empty()) {
      Open& top = stack.back();
      const Computation& computation = module.computations[top.computation];
      if (top.instruction == computation.first_instruction + computation.instruction_count) {
        state[top.computation] = kDone;
        stack.pop_back();
        continue;
      }
      const auto calls = module.CalledComputations(module.instructions[top.instruction]);
      if (top.call == calls.size()) {
        ++top.instruction;
        top.call = 0;
        continue;
      }
      const uint32_t callee = calls[top.call++];
      if (state[callee] == kOpen) {
        return MakeError(fmt::format("computation '{}' calls itself through '{}'",
                                     module.computations[callee].name, computation.name));
      }
      if (state[callee] == kNew) {
        state[callee] = kOpen;
        stack.push_back({callee, module.computations[callee].first_instruction, 0});
      }
    }
  }
  return {};
}

uint64_t Combine(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
  return hash ^ (hash >> 32);
}

// Independent of the order of computations, and of instructions within one: proto and text of a
// module may differ in both.
uint64_t ContentHash(const HloModule& module) {
  uint64_t sum = 0;
  std::vector<uint64_t> names;
  for (const Computation& computation : module.computations) {
    const uint64_t computation_hash = Hash(computation.name);
    names.clear();
    for (const Instruction& instruction : module.InstructionsOf(computation)) {
      names.push_back(Hash(instruction.name));
    }
    for (uint32_t i = 0; i < computation.instruction_count; ++i) {
      const Instruction& instruction = module.instructions[computation.first_instruction + i];
      uint64_t hash = Combine(computation_hash, names[i]);
      hash = Combine(hash, Hash(instruction.opcode));
      hash = Combine(hash, Hash(instruction.shape));
      hash = Combine(hash, Hash(instruction.metadata.op_name));
      for (const uint32_t operand : module.Operands(instruction)) {
        hash = Combine(hash, names[operand - computation.first_instruction]);
      }
      for (const uint32_t callee : module.CalledComputations(instruction)) {
        hash = Combine(hash, Hash(module.computations[callee].name));
      }
      sum += Combine(hash, instruction.is_root ? 2 : 1);
    }
  }
  return Combine(sum, module.instructions.size());
}

std::string_view BaseName(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0.
}

}  // namespace

Status FinishModule(HloModule& module) {
  for (Computation& computation : module.computations) {
    if (computation.root != kNoIndex) module.instructions[computation.root].is_root = true;
  }
  if (module.entry != kNoIndex) module.computations[module.entry].is_entry = true;
  for (const Instruction& instruction : module.instructions) {
    if (instruction.opcode != "fusion") continue;
    for (const uint32_t callee : module.CalledComputations(instruction)) {
      module.computations[callee].is_fusion = true;
    }
  }
  std::vector<int64_t>& aliased = module.aliased_parameters;
  std::sort(aliased.begin(), aliased.end());
  aliased.erase(std::unique(aliased.begin(), aliased.end()), aliased.end());
  XLATRACE_TRY(CheckOperands(module));
  XLATRACE_TRY(CheckCalls(module));
  module.content_hash = ContentHash(module);
  return {};
}

void BreakFrameCycles(HloModule& module) {
  uint32_t cut = 0;
  for (uint32_t i = 0; i < module.stack_frames.size(); ++i) {
    uint32_t& parent = module.stack_frames[i].parent;
    if (parent <= i) continue;  // Frame numbers are 1-based: frame i + 1 may point to 0..i.
    parent = 0;
    ++cut;
  }
  if (cut > 0) {
    module.warnings.push_back(
        fmt::format("{} stack frames name a parent that comes after them; cut there", cut));
  }
}

void ResolveSource(const HloModule& module, model::OpMetadata& metadata) {
  if (metadata.stack_frame == 0) return;
  if (metadata.stack_frame > module.stack_frames.size()) {
    metadata.stack_frame = 0;
    return;
  }
  const model::StackFrame& frame = module.stack_frames[metadata.stack_frame - 1];
  if (frame.file.empty()) return;
  const bool has_own = !metadata.source_file.empty() && metadata.source_line > 0;
  if (has_own && (metadata.source_line != frame.line ||
                  BaseName(metadata.source_file) != BaseName(frame.file))) {
    metadata.stack_frame = 0;
    return;
  }
  metadata.source_file = frame.file;
  metadata.source_line = frame.line;
}

}  // namespace xlatrace::hlo
