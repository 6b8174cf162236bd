// SPDX-License-Identifier: Apache-2.0
#include "analysis/findings/memory_facts.h"

#include <string_view>

#include "analysis/live_values.h"
#include "hlo/artefacts/buffer_assignment.h"
#include "hlo/shape.h"

namespace xlatrace::analysis::findings {
namespace {

using model::Instruction;

// True for instructions that pass on their operand, without memory of their own.
bool PassesOnWhole(std::string_view opcode) {
  return opcode == "get-tuple-element" || opcode == "tuple" || opcode == "bitcast" ||
         opcode == "opt-barrier" || opcode == "optimization-barrier";
}

// Empty if the module has no schedule.
void ReadPeak(const model::HloModule& module, const Result<LiveValues>& live, MemoryFacts& facts) {
  if (live) facts.peak_bytes = live->peak_bytes;
  const auto assignment = hlo::BufferAssignmentOf(module);
  if (!assignment || assignment->TotalBytes() <= 0) return;
  facts.peak_bytes = assignment->TotalBytes();
  facts.from_assignment = true;
}

}  // namespace

MemoryFacts KeptWithoutRecomputation(const model::HloModule& module,
                                     const std::vector<uint32_t>& nodes,
                                     const std::vector<bool>& again) {
  MemoryFacts facts;
  ReadPeak(module, LiveValuesOf(module), facts);
  // Operands precede their readers, so one backward pass visits all readers first.
  std::vector<bool> kept(module.instructions.size());
  for (const model::Computation& computation : module.computations) {
    if (computation.root < kept.size()) kept[computation.root] = true;  // Passed on to the caller.
  }
  for (size_t i = module.instructions.size(); i-- > 0;) {
    const Instruction& instruction = module.instructions[i];
    const bool reads = PassesOnWhole(instruction.opcode) ? kept[i] : !again[i];
    if (!reads) continue;
    for (const uint32_t operand : module.Operands(instruction)) {
      if (operand < i) kept[operand] = true;
    }
  }
  for (const uint32_t node : nodes) {
    const bool is_kept = node < kept.size() && kept[node];
    facts.bytes.push_back(is_kept ? hlo::ByteSize(module.instructions[node].shape) : 0);
  }
  return facts;
}

MemoryFacts HeldAtPeak(const model::HloModule& module, const std::vector<uint32_t>& nodes) {
  MemoryFacts facts;
  const auto live = LiveValuesOf(module);
  ReadPeak(module, live, facts);
  facts.bytes.resize(nodes.size());
  if (!live) return facts;
  std::vector<int64_t> held(module.instructions.size());
  for (const LiveValue& value : live->values) {
    if (value.instruction >= held.size() || value.first > live->peak_position ||
        value.last < live->peak_position) {
      continue;
    }
    held[value.instruction] += value.bytes;
  }
  for (size_t k = 0; k < nodes.size(); ++k) {
    if (nodes[k] < held.size()) facts.bytes[k] = held[nodes[k]];
  }
  return facts;
}

}  // namespace xlatrace::analysis::findings
