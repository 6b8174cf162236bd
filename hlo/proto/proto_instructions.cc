// SPDX-License-Identifier: Apache-2.0
#include "hlo/proto/proto_instructions.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/hash.h"
#include "hlo/finish_module.h"
#include "hlo/op_details.h"
#include "hlo/proto/proto_literal.h"
#include "hlo/proto/proto_shape.h"

namespace xlatrace::hlo {

using model::Computation;
using model::Instruction;
using model::kNoIndex;

namespace {

// -1 if the value cannot be the number of a parameter or tuple element.
int32_t SmallIndex(int64_t value) {
  return value >= 0 && value <= INT32_MAX ? static_cast<int32_t>(value) : -1;
}

// 0 if the value cannot be the number of a line.
int32_t PositiveInt32(int64_t value) {
  return value > 0 && value <= INT32_MAX ? static_cast<int32_t>(value) : 0;
}

}  // namespace

bool IdTable::Build(const std::vector<int64_t>& ids, uint32_t base) {
  dense_.clear();
  slots_.clear();
  if (ids.empty()) return true;
  const auto [low, high] = std::minmax_element(ids.begin(), ids.end());
  min_ = *low;
  // In unsigned arithmetic: hostile ids may span more than int64_t holds.
  const uint64_t span = static_cast<uint64_t>(*high) - static_cast<uint64_t>(*low);
  if (span < 8 * ids.size() + 64) {
    dense_.assign(span + 1, kNoIndex);
    for (size_t i = 0; i < ids.size(); ++i) {
      uint32_t& slot = dense_[static_cast<size_t>(ids[i] - min_)];
      if (slot != kNoIndex) return false;
      slot = base + static_cast<uint32_t>(i);
    }
    return true;
  }
  size_t size = 16;
  while (size < 2 * ids.size()) size *= 2;
  slots_.resize(size);
  for (size_t i = 0; i < ids.size(); ++i) {
    Slot& slot = slots_[SlotOf(ids[i])];
    if (slot.index != kNoIndex) return false;
    slot = {ids[i], base + static_cast<uint32_t>(i)};
  }
  return true;
}

size_t IdTable::SlotOf(int64_t id) const {
  size_t at = Mix(0, static_cast<uint64_t>(id)) & (slots_.size() - 1);
  while (slots_[at].index != kNoIndex && slots_[at].id != id) at = (at + 1) & (slots_.size() - 1);
  return at;
}

uint32_t IdTable::Find(int64_t id) const {
  if (!dense_.empty()) {
    const uint64_t at = static_cast<uint64_t>(id) - static_cast<uint64_t>(min_);
    return at < dense_.size() ? dense_[at] : kNoIndex;
  }
  return slots_.empty() ? kNoIndex : slots_[SlotOf(id)].index;
}

Status ProtoInstructions::AddComputation(std::string_view message) {
  Computation computation;
  computation.first_instruction = static_cast<uint32_t>(module_.instructions.size());
  int64_t root_id = 0;
  instruction_ids_.clear();
  Fields fields(message, position_);
  while (fields.Next()) {
    switch (fields.Key()) {
      case BytesKey(1):
        computation.name = fields.Bytes();
        break;
      case BytesKey(2):
        XLATRACE_TRY(AddInstruction(fields.Bytes()));
        break;
      case VarintKey(5):
        computation.id = fields.Int();
        break;
      case VarintKey(6):
        root_id = fields.Int();
        break;
      case VarintKey(7):
        computation.is_fusion = fields.Bool();
        break;
      case BytesKey(8):
        computation.execution_thread = fields.Bytes();
        if (computation.execution_thread == "main") computation.execution_thread = {};
        break;
      default:
        fields.Skip();
    }
  }
  computation.instruction_count = static_cast<uint32_t>(instruction_ids_.size());
  if (computation.instruction_count == 0) {
    return MakeError(fmt::format("computation '{}' has no instructions", computation.name));
  }
  const auto scheduled = schedule_.find(computation.id);
  if (scheduled != schedule_.end()) ApplySchedule(computation, scheduled->second);
  if (!instruction_table_.Build(instruction_ids_, computation.first_instruction)) {
    return MakeError(
        fmt::format("computation '{}' holds two instructions of one id", computation.name));
  }
  computation.root = instruction_table_.Find(root_id);
  if (computation.root == kNoIndex) {
    return MakeError(
        fmt::format("root {} of computation '{}' is not in it", root_id, computation.name));
  }
  for (uint32_t i = 0; i < computation.instruction_count; ++i) {
    module_.instructions[computation.first_instruction + i].computation =
        static_cast<uint32_t>(module_.computations.size());
  }
  XLATRACE_TRY(ResolveOperands(computation));
  all_computation_ids_.push_back(computation.id);
  module_.computations.push_back(computation);
  return {};
}

Status ProtoInstructions::AddInstruction(std::string_view message) {
  Instruction& instruction = module_.instructions.emplace_back();
  instruction.operands.begin = static_cast<uint32_t>(operand_ids_.size());
  instruction.called_computations.begin = static_cast<uint32_t>(called_ids_.size());
  int64_t parameter_number = 0;
  int64_t tuple_index = 0;
  std::string_view literal;
  ProtoDetails details(module_, position_);
  Fields fields(message, position_);
  while (fields.Next()) {
    switch (fields.Key()) {
      case BytesKey(1):
        instruction.name = fields.Bytes();
        break;
      case BytesKey(2):
        instruction.opcode = fields.Bytes();
        break;
      case BytesKey(3): {
        XLATRACE_ASSIGN(instruction.shape, ShapeText(fields.Bytes()));
        break;
      }
      case BytesKey(7):
        ReadMetadata(fields.Bytes(), instruction.metadata);
        break;
      case BytesKey(8):
        literal = fields.Bytes();
        break;
      case VarintKey(9):
        parameter_number = fields.Int();
        break;
      case BytesKey(11):
        instruction.fusion_kind = fields.Bytes();
        break;
      case VarintKey(13):
        tuple_index = fields.Int();
        break;
      case BytesKey(28):
        instruction.custom_call_target = fields.Bytes();
        break;
      case BytesKey(30):
        ReadDotDimensions(fields.Bytes(), instruction);
        break;
      case VarintKey(35):
        instruction.id = fields.Int();
        break;
      case VarintKey(36):
      case BytesKey(36):
        fields.Ints([&](int64_t id) { operand_ids_.push_back(id); });
        break;
      case VarintKey(38):
      case BytesKey(38):
        fields.Ints([&](int64_t id) { called_ids_.push_back(id); });
        break;
      case BytesKey(43):
        instruction.backend_config = fields.Bytes();
        break;
      case BytesKey(99):
        instruction.backend_config = ReadPayload(fields.Bytes());
        break;
      default:
        if (!details.Read(fields)) fields.Skip();
    }
  }
  instruction.operands.size =
      static_cast<uint32_t>(operand_ids_.size()) - instruction.operands.begin;
  instruction.called_computations.size =
      static_cast<uint32_t>(called_ids_.size()) - instruction.called_computations.begin;
  if (instruction.opcode.empty()) {
    return MakeError(fmt::format("instruction '{}' has no opcode", instruction.name));
  }
  // Zero is proto3's default and not written.
  if (instruction.opcode == "parameter") {
    instruction.parameter_number = SmallIndex(parameter_number);
  }
  if (instruction.opcode == "get-tuple-element") instruction.tuple_index = SmallIndex(tuple_index);
  details.Finish(instruction);
  if (instruction.opcode == "constant") {
    SetLiteral(module_, instruction, KeepLiteral(literal));
  }
  instruction_ids_.push_back(instruction.id);
  return {};
}

Result<std::string_view> ProtoInstructions::ShapeText(std::string_view message) {
  const auto [it, is_new] = shapes_.try_emplace(message);
  if (is_new) {
    std::string text;
    if (!AppendShape(message, position_, text)) {
      return MakeError("a shape nests deeper than any real one");
    }
    it->second = module_.Own(std::move(text));
  }
  return it->second;
}

std::string_view ProtoInstructions::KeepLiteral(std::string_view message) {
  // The same few small numbers occur often; a large array is rare.
  constexpr size_t kMaxCachedBytes = 64;
  if (message.size() > kMaxCachedBytes) return module_.Own(LiteralText(message, position_));
  const auto [it, is_new] = literals_.try_emplace(message);
  if (is_new) it->second = module_.Own(LiteralText(message, position_));
  return it->second;
}

void ProtoInstructions::ReadMetadata(std::string_view message, model::OpMetadata& metadata) {
  Fields fields(message, position_);
  while (fields.Next()) {
    switch (fields.Key()) {
      case BytesKey(1):
        metadata.op_type = fields.Bytes();
        break;
      case BytesKey(2):
        metadata.op_name = fields.Bytes();
        break;
      case BytesKey(3):
        metadata.source_file = fields.Bytes();
        break;
      case VarintKey(4):
        metadata.source_line = PositiveInt32(fields.Int());
        break;
      case BytesKey(12):
        MutableOtherNames(module_, metadata).deduplicated = fields.Bytes();
        break;
      case VarintKey(15): {
        const int64_t frame = fields.Int();
        metadata.stack_frame = frame > 0 && frame <= UINT32_MAX ? static_cast<uint32_t>(frame) : 0;
        break;
      }
      case BytesKey(16):
        MutableOtherNames(module_, metadata).scheduling = fields.Bytes();
        break;
      default:
        fields.Skip();
    }
  }
  ResolveSource(module_, metadata);
}

void ProtoInstructions::ReadDotDimensions(std::string_view message, Instruction& instruction) {
  instruction.lhs_contracting_dims.begin = static_cast<uint32_t>(module_.dim_pool.size());
  Fields fields(message, position_);
  while (fields.Next()) {
    switch (fields.Key()) {
      case VarintKey(1):
      case BytesKey(1):
        fields.Ints([&](int64_t dim) { module_.dim_pool.push_back(dim); });
        break;
      default:
        fields.Skip();
    }
  }
  instruction.lhs_contracting_dims.size =
      static_cast<uint32_t>(module_.dim_pool.size()) - instruction.lhs_contracting_dims.begin;
}

std::string_view ProtoInstructions::ReadPayload(std::string_view message) {
  std::string_view value;
  int64_t id = -1;
  Fields fields(message, position_);
  while (fields.Next()) {
    switch (fields.Key()) {
      case BytesKey(1):
        value = fields.Bytes();
        break;
      case VarintKey(2):
        id = fields.Int();
        break;
      default:
        fields.Skip();
    }
  }
  if (id >= 0 && static_cast<uint64_t>(id) < payloads_.size()) return payloads_[id];
  return value;
}

// Puts the instructions of the last computation into the order of `sequence`. A sequence that is
// not a permutation of them is damage that costs the order only.
void ProtoInstructions::ApplySchedule(Computation& computation, std::string_view sequence) {
  const uint32_t count = computation.instruction_count;
  std::vector<uint32_t> order;
  order.reserve(count);
  bool sound = instruction_table_.Build(instruction_ids_, 0);
  std::vector<bool> seen(count, false);
  Fields fields(sequence, position_);
  while (fields.Next()) {
    switch (fields.Key()) {
      case VarintKey(1):
      case BytesKey(1):
        fields.Ints([&](int64_t id) {
          const uint32_t at = sound ? instruction_table_.Find(id) : kNoIndex;
          if (at == kNoIndex || seen[at]) {
            sound = false;
            return;
          }
          seen[at] = true;
          order.push_back(at);
        });
        break;
      default:
        fields.Skip();
    }
  }
  if (!sound || order.size() != count) {
    module_.warnings.push_back(fmt::format(
        "the schedule of computation '{}' does not list its instructions; order of the file kept",
        computation.name));
    return;
  }
  std::vector<Instruction> ordered;
  ordered.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    ordered.push_back(module_.instructions[computation.first_instruction + order[i]]);
    instruction_ids_[i] = ordered.back().id;
  }
  std::copy(ordered.begin(), ordered.end(),
            module_.instructions.begin() + computation.first_instruction);
}

Status ProtoInstructions::ResolveOperands(const Computation& computation) {
  module_.operand_pool.resize(operand_ids_.size());
  for (const Instruction& instruction : module_.InstructionsOf(computation)) {
    for (uint32_t i = 0; i < instruction.operands.size; ++i) {
      const int64_t id = operand_ids_[instruction.operands.begin + i];
      const uint32_t at = instruction_table_.Find(id);
      if (at == kNoIndex) {
        return MakeError(fmt::format("operand {} of instruction '{}' is not in computation '{}'",
                                     id, instruction.name, computation.name));
      }
      module_.operand_pool[instruction.operands.begin + i] = at;
    }
  }
  return {};
}

Status ProtoInstructions::ResolveCalls() {
  if (!computation_ids_.Build(all_computation_ids_, 0)) {
    return MakeError("two computations have one id");
  }
  module_.called_pool.resize(called_ids_.size());
  for (const Instruction& instruction : module_.instructions) {
    for (uint32_t i = 0; i < instruction.called_computations.size; ++i) {
      const uint32_t slot = instruction.called_computations.begin + i;
      module_.called_pool[slot] = computation_ids_.Find(called_ids_[slot]);
      if (module_.called_pool[slot] == kNoIndex) {
        return MakeError(fmt::format("instruction '{}' calls computation {}, which does not exist",
                                     instruction.name, called_ids_[slot]));
      }
    }
  }
  return {};
}

}  // namespace xlatrace::hlo
