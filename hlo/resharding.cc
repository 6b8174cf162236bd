// SPDX-License-Identifier: Apache-2.0
#include "hlo/resharding.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <unordered_set>

#include "hlo/opcode.h"
#include "model/joined_names.h"

namespace xlatrace::hlo {
namespace {

using model::HloModule;
using model::Instruction;
using model::StackFrame;

// Collectives, copies and views between the first collective and the work that reads it.
constexpr size_t kMaxOnTheWay = 64;
constexpr int kMaxFrames = 256;  // In one stack.

bool MovesShards(std::string_view opcode) {
  static constexpr auto kOpcodes = std::to_array<std::string_view>(
      {"all-gather", "all-to-all", "collective-permute", "ragged-all-to-all"});
  return std::find(kOpcodes.begin(), kOpcodes.end(), BaseOpcode(opcode)) != kOpcodes.end();
}

// Primitives that users write to get a collective.
bool IsCollectivePrimitive(std::string_view op_name) {
  static constexpr auto kPrimitives = std::to_array<std::string_view>(
      {"all_gather", "all_to_all", "ppermute", "pshuffle", "pbroadcast", "psum", "reduce_scatter",
       "ragged_all_to_all", "sharding_constraint"});
  const std::string_view leaf = op_name.substr(op_name.rfind('/') + 1);
  return std::any_of(kPrimitives.begin(), kPrimitives.end(),
                     [&](std::string_view primitive) { return leaf.starts_with(primitive); });
}

bool IsSameFunction(const StackFrame& a, const StackFrame& b) {
  return a.function == b.function && a.file == b.file && a.parent == b.parent;
}

}  // namespace

Resharding::Resharding(const HloModule& module) : module_(module) {
  const bool any = std::any_of(module.instructions.begin(), module.instructions.end(),
                               [&](const Instruction& i) { return IsAddedByPartitioner(i); });
  if (!any) return;
  std::vector<bool> used(module.stack_frames.size() + 1, false);
  for (const Instruction& i : module.instructions) {
    if (i.metadata.stack_frame < used.size()) used[i.metadata.stack_frame] = true;
  }
  for (const StackFrame& frame : module.stack_frames) {
    if (frame.parent < used.size()) used[frame.parent] = true;
  }
  for (uint32_t frame = 1; frame < used.size(); ++frame) {
    if (!used[frame]) unused_frames_.push_back(frame);
  }
  users_.resize(module.instructions.size());
  for (uint32_t i = 0; i < module.instructions.size(); ++i) {
    for (const uint32_t operand : module.Operands(module.instructions[i])) {
      if (operand < users_.size()) users_[operand].push_back(i);
    }
  }
}

bool Resharding::IsAddedByPartitioner(const Instruction& instruction) const {
  const model::OpMetadata& metadata = instruction.metadata;
  return MovesShards(instruction.opcode) && metadata.stack_frame > 0 &&
         metadata.stack_frame <= module_.stack_frames.size() && !metadata.op_name.empty() &&
         !IsCollectivePrimitive(model::FirstOfJoined(metadata.op_name));
}

// The line of the work that reads the collective, past work with the producer's frame or none. 0:
// no line.
int32_t Resharding::LastReadingLine(uint32_t collective) const {
  const uint32_t producer = module_.instructions[collective].metadata.stack_frame;
  const StackFrame& made = module_.stack_frames[producer - 1];
  std::vector<uint32_t> queue = {collective};
  std::unordered_set<uint32_t> seen = {collective};
  int32_t last = 0;
  for (size_t at = 0; at < queue.size() && queue.size() < kMaxOnTheWay; ++at) {
    for (const uint32_t user : users_[queue[at]]) {
      const uint32_t frame = module_.instructions[user].metadata.stack_frame;
      if (frame != 0 && frame != producer && frame <= module_.stack_frames.size()) {
        const uint32_t beside = AncestorBeside(frame, made);
        if (beside != 0) last = std::max(last, module_.stack_frames[beside - 1].line);
      } else if (seen.insert(user).second) {
        queue.push_back(user);
      }
    }
  }
  return last;
}

// The frame itself or a caller, in the function of the producer. 0: the stack has none.
uint32_t Resharding::AncestorBeside(uint32_t frame, const StackFrame& producer) const {
  for (int step = 0; step < kMaxFrames && frame > 0 && frame <= module_.stack_frames.size();
       ++step) {
    const StackFrame& at = module_.stack_frames[frame - 1];
    if (IsSameFunction(at, producer)) return frame;
    frame = at.parent;
  }
  return 0;
}

uint32_t Resharding::ConstraintOf(uint32_t instruction) const {
  if (unused_frames_.empty()) return 0;
  const Instruction& collective = module_.instructions[instruction];
  if (!IsAddedByPartitioner(collective)) return 0;
  const StackFrame& producer = module_.stack_frames[collective.metadata.stack_frame - 1];
  const int32_t last = LastReadingLine(instruction);
  uint32_t cause = 0;
  for (const uint32_t frame : unused_frames_) {
    const uint32_t beside = AncestorBeside(frame, producer);
    if (beside == 0) continue;
    const int32_t line = module_.stack_frames[beside - 1].line;
    if (line < producer.line || line > last) continue;
    const StackFrame& found = module_.stack_frames[frame - 1];
    if (cause != 0) {
      const StackFrame& other = module_.stack_frames[cause - 1];
      if (other.file != found.file || other.line != found.line) return 0;
    }
    cause = frame;
  }
  return cause;
}

}  // namespace xlatrace::hlo
