// SPDX-License-Identifier: Apache-2.0
#include "hlo/proto/proto_reader.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <protozero/exception.hpp>

#include "hlo/artefacts/memory_space.h"
#include "hlo/finish_module.h"
#include "hlo/proto/proto_instructions.h"
#include "hlo/proto/wire.h"
#include "hlo/shape.h"

namespace xlatrace::hlo {
namespace {

using model::HloModule;
using model::kNoIndex;

// First fields 1 and 3 of a message, as far as its fields can be walked.
struct Sketch {
  std::string_view field1;
  bool has_field1 = false;
  bool has_field2 = false;
  bool has_field3 = false;
};

Sketch SketchOf(std::string_view message) {
  Sketch sketch;
  WirePosition position;
  Fields fields(message, position);
  try {
    while (fields.Next()) {
      switch (fields.Key()) {
        case BytesKey(1):
          if (!sketch.has_field1) sketch.field1 = fields.Bytes();
          sketch.has_field1 = true;
          break;
        case BytesKey(2):
          sketch.has_field2 = true;
          fields.Skip();
          break;
        case BytesKey(3):
          sketch.has_field3 = true;
          fields.Skip();
          break;
        default:
          fields.Skip();
      }
      if (sketch.has_field1 && sketch.has_field3) break;
    }
  } catch (const protozero::exception&) {
    // Damage is reported by the real reading, with its place.
  }
  return sketch;
}

// Separates a module or computation name from a nested message, which begins with the key of one of
// its first fields: a control character. The rest of a name is arbitrary.
bool IsName(std::string_view text) {
  return !text.empty() && static_cast<unsigned char>(text[0]) >= 0x20 && text[0] != 0x7f;
}

bool IsModule(const Sketch& sketch) {
  if (!sketch.has_field1) return sketch.has_field3;  // A module without a name.
  return IsName(sketch.field1) && (sketch.has_field2 || sketch.has_field3);
}

struct Parts {
  std::string_view module;
  std::string_view holder;  // The HloProto around it, for its buffer assignment; may be empty.
};

// HloProto and HloUnoptimizedSnapshot hold a module in field 1, HloSnapshot an HloProto. The dumped
// form of HloUnoptimizedSnapshot is preceded by its length.
Parts FindModule(std::string_view bytes) {
  for (int with_length = 0; with_length < 2; ++with_length) {
    std::string_view message = bytes;
    if (with_length == 1) {
      const char* at = bytes.data();
      try {
        const uint64_t size = protozero::decode_varint(&at, bytes.data() + bytes.size());
        message.remove_prefix(static_cast<size_t>(at - bytes.data()));
        if (size > message.size()) break;
        message = message.substr(0, size);
      } catch (const protozero::exception&) {
        break;
      }
    }
    const Sketch outer = SketchOf(message);
    if (IsModule(outer)) return {message, {}};
    const Sketch inner = SketchOf(outer.field1);
    if (IsModule(inner)) return {outer.field1, message};
    if (IsModule(SketchOf(inner.field1))) return {inner.field1, outer.field1};
  }
  return {};
}

void ReadStrings(std::string_view message, WirePosition& position, uint32_t number,
                 std::vector<std::string_view>& out) {
  Fields fields(message, position);
  while (fields.Next()) {
    if (fields.Key() == BytesKey(number)) {
      out.push_back(fields.Bytes());
    } else {
      fields.Skip();
    }
  }
}

// Integer fields 1..8 of a small message.
struct SmallInts {
  int64_t value[9] = {};
};

SmallInts ReadSmallInts(std::string_view message, WirePosition& position) {
  SmallInts ints;
  Fields fields(message, position);
  while (fields.Next()) {
    const uint32_t number = fields.Key() >> 3;
    if (number <= 8 && fields.Key() == VarintKey(number)) {
      ints.value[number] = fields.Int();
    } else {
      fields.Skip();
    }
  }
  return ints;
}

template <typename T>
T At(const std::vector<T>& table, int64_t number) {
  if (number < 1 || static_cast<uint64_t>(number) > table.size()) return T{};
  return table[static_cast<size_t>(number - 1)];
}

// xla.StackFrameIndexProto; its parents are frame numbers, 0 for none (printed text adds 1).
void ReadStackFrames(std::string_view message, WirePosition& position, HloModule& module) {
  std::vector<std::string_view> files;
  std::vector<std::string_view> functions;
  std::vector<std::string_view> raw_locations;
  std::vector<std::string_view> raw_frames;
  ReadStrings(message, position, 1, files);
  ReadStrings(message, position, 2, functions);
  ReadStrings(message, position, 3, raw_locations);
  ReadStrings(message, position, 4, raw_frames);
  std::vector<SmallInts> locations;
  for (const std::string_view raw : raw_locations) {
    locations.push_back(ReadSmallInts(raw, position));
  }
  for (const std::string_view raw : raw_frames) {
    const SmallInts frame = ReadSmallInts(raw, position);
    const SmallInts location = At(locations, frame.value[1]);
    model::StackFrame& out = module.stack_frames.emplace_back();
    out.file = At(files, location.value[1]);
    out.function = At(functions, location.value[2]);
    out.line = static_cast<int32_t>(location.value[3]);
    out.column = static_cast<int32_t>(location.value[4]);
    out.parent = static_cast<uint32_t>(frame.value[2]);
  }
  BreakFrameCycles(module);
}

// HloScheduleProto: map<computation id, InstructionSequence>.
void ReadSchedule(std::string_view message, WirePosition& position, HloModule& module,
                  ProtoInstructions& instructions) {
  std::vector<std::string_view> entries;
  ReadStrings(message, position, 1, entries);
  for (const std::string_view entry : entries) {
    int64_t id = 0;
    std::string_view sequence;
    Fields fields(entry, position);
    while (fields.Next()) {
      switch (fields.Key()) {
        case VarintKey(1):
          id = fields.Int();
          break;
        case BytesKey(2):
          sequence = fields.Bytes();
          break;
        default:
          fields.Skip();
      }
    }
    instructions.AddSchedule(id, sequence);
    module.is_scheduled = true;
  }
}

// Sum of the allocations in device memory; saturates.
int64_t ReadPeakMemory(std::string_view buffer_assignment, Platform platform,
                       WirePosition& position) {
  std::vector<std::string_view> allocations;
  ReadStrings(buffer_assignment, position, 3, allocations);
  if (allocations.empty()) return -1;
  int64_t sum = 0;
  for (const std::string_view allocation : allocations) {
    const SmallInts ints = ReadSmallInts(allocation, position);
    const int64_t size = ints.value[2];
    if (size < 0 || !IsDeviceMemory(platform, ints.value[8])) continue;
    if (sum > std::numeric_limits<int64_t>::max() - size) {
      return std::numeric_limits<int64_t>::max();
    }
    sum += size;
  }
  return sum;
}

Status ReadModule(const Parts& parts, WirePosition& position, HloModule& module) {
  ProtoInstructions instructions(module, position);
  std::vector<std::string_view> computations;
  std::vector<std::string_view> payloads;
  std::string_view entry_name;
  std::string_view stack_frames;
  std::vector<std::string_view> schedules;
  int64_t entry_id = 0;
  bool has_entry_id = false;
  module.program_id = 0;  // proto3 does not write its default, 0.
  // Computations come first in the file but refer to tables that come later, so this pass only
  // notes where they are.
  Fields fields(parts.module, position);
  while (fields.Next()) {
    switch (fields.Key()) {
      case BytesKey(1):
        module.name = fields.Bytes();
        break;
      case BytesKey(2):
        entry_name = fields.Bytes();
        break;
      case BytesKey(3):
        computations.push_back(fields.Bytes());
        break;
      case VarintKey(5):
        module.program_id = fields.Int();
        break;
      case VarintKey(6):
        entry_id = fields.Int();
        has_entry_id = true;
        break;
      case BytesKey(7):
        schedules.push_back(fields.Bytes());
        break;
      case BytesKey(8): {  // HloInputOutputAliasProto
        std::vector<std::string_view> entries;
        ReadStrings(fields.Bytes(), position, 1, entries);
        for (const std::string_view entry : entries) {
          module.aliased_parameters.push_back(ReadSmallInts(entry, position).value[2]);
        }
        break;
      }
      case BytesKey(15): {
        const SmallInts devices = ReadSmallInts(fields.Bytes(), position);
        module.replica_count = std::max<int64_t>(devices.value[1], 1);
        module.num_partitions = std::max<int64_t>(devices.value[2], 1);
        break;
      }
      case BytesKey(17):
        stack_frames = fields.Bytes();
        break;
      case BytesKey(22):
        payloads.push_back(fields.Bytes());
        break;
      default:
        fields.Skip();
    }
  }
  if (computations.empty()) return MakeError("the module holds no computation");
  for (const std::string_view schedule : schedules) {
    ReadSchedule(schedule, position, module, instructions);
  }
  ReadStackFrames(stack_frames, position, module);
  instructions.SetPayloads(std::move(payloads));

  constexpr size_t kTypicalInstructionBytes = 160;  // Bytes; only sizes the vector.
  module.computations.reserve(computations.size());
  module.instructions.reserve(parts.module.size() / kTypicalInstructionBytes);
  for (const std::string_view computation : computations) {
    XLATRACE_TRY(instructions.AddComputation(computation));
  }
  XLATRACE_TRY(instructions.ResolveCalls());
  if (has_entry_id) module.entry = instructions.FindComputation(entry_id);
  for (uint32_t i = 0; i < module.computations.size() && module.entry == kNoIndex; ++i) {
    if (module.computations[i].name == entry_name) module.entry = i;
  }
  if (module.entry == kNoIndex) {
    return MakeError(fmt::format("entry computation '{}' does not exist", entry_name));
  }
  std::vector<std::string_view> assignments;
  ReadStrings(parts.holder, position, 3, assignments);
  if (!assignments.empty()) {
    module.peak_memory_bytes = ReadPeakMemory(assignments.back(), PlatformOf(module), position);
    module.buffer_assignment = assignments.back();
  }
  return FinishModule(module);
}

}  // namespace

Result<HloModule> ReadProto(std::shared_ptr<const std::string> bytes) {
  if (bytes == nullptr || bytes->empty()) return MakeError("no HLO proto: empty");
  // Protobuf itself ends at 2 GB; the limit keeps every index of the pools in 32 bits.
  if (bytes->size() > std::numeric_limits<uint32_t>::max()) {
    return MakeError(fmt::format("an HLO proto of {} bytes is not possible", bytes->size()));
  }
  HloModule module;
  module.buffer = bytes;
  WirePosition position;
  try {
    Parts parts = FindModule(*bytes);
    if (parts.module.data() == nullptr) {
      // No field looks like a module: walk the outermost message, so that the error names the
      // damage.
      std::vector<std::string_view> fields;
      ReadStrings(*bytes, position, 1, fields);
      return MakeError("not an HLO proto",
                       "give an .hlo.pb file of an XLA dump (--xla_dump_hlo_as_proto)");
    }
    XLATRACE_TRY(ReadModule(parts, position, module));
  } catch (const protozero::exception& error) {
    return MakeError(DescribeWireError(error, *bytes, position));
  }
  return module;
}

}  // namespace xlatrace::hlo
