// SPDX-License-Identifier: Apache-2.0
#include "hlo/proto/text_proto_module.h"

#include <charconv>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <protozero/pbf_writer.hpp>

#include "hlo/proto/text_proto.h"

namespace xlatrace::hlo {
namespace {

enum class Type : uint8_t { kInt, kBool, kText, kMessage, kEnum, kFloat, kDouble };

// Messages that are read, and those inside of them.
enum Message : uint8_t {
  kNone,
  kHloProto,
  kModule,
  kComputation,
  kInstruction,
  kShape,
  kLayout,
  kTile,
  kMetadata,
  kLiteral,
  kWindow,
  kWindowDim,
  kConvDims,
  kDotDims,
  kRaggedDims,
  kReplicaGroup,
  kDeviceList,
  kIotaGroups,
  kSchedule,
  kScheduleEntry,
  kSequence,
  kFrames,
  kLocation,
  kFrame,
  kPayload,
  kDevices,
  kAssignment,
  kBuffer,
  kDefinition,
  kAllocation,
  kAssigned,
  kTrace,
  kEvent,
  kSnapshot,
};

struct Field {
  Message in;
  std::string_view name;
  uint32_t number;
  Type type;
  Message message = kNone;
};

constexpr Field kFields[] = {
    {kSnapshot, "hlo", 1, Type::kMessage, kHloProto},
    {kHloProto, "hlo_module", 1, Type::kMessage, kModule},
    {kHloProto, "buffer_assignment", 3, Type::kMessage, kAssignment},
    {kModule, "name", 1, Type::kText},
    {kModule, "entry_computation_name", 2, Type::kText},
    {kModule, "computations", 3, Type::kMessage, kComputation},
    {kModule, "id", 5, Type::kInt},
    {kModule, "entry_computation_id", 6, Type::kInt},
    {kModule, "schedule", 7, Type::kMessage, kSchedule},
    {kModule, "device_assignment", 15, Type::kMessage, kDevices},
    {kModule, "stack_frame_index", 17, Type::kMessage, kFrames},
    {kModule, "payloads", 22, Type::kText},
    {kDevices, "replica_count", 1, Type::kInt},
    {kDevices, "computation_count", 2, Type::kInt},
    {kSchedule, "sequences", 1, Type::kMessage, kScheduleEntry},
    {kScheduleEntry, "key", 1, Type::kInt},
    {kScheduleEntry, "value", 2, Type::kMessage, kSequence},
    {kSequence, "instruction_ids", 1, Type::kInt},
    {kFrames, "file_names", 1, Type::kText},
    {kFrames, "function_names", 2, Type::kText},
    {kFrames, "file_locations", 3, Type::kMessage, kLocation},
    {kFrames, "stack_frames", 4, Type::kMessage, kFrame},
    {kLocation, "file_name_id", 1, Type::kInt},
    {kLocation, "function_name_id", 2, Type::kInt},
    {kLocation, "line", 3, Type::kInt},
    {kLocation, "column", 4, Type::kInt},
    {kFrame, "file_location_id", 1, Type::kInt},
    {kFrame, "parent_frame_id", 2, Type::kInt},
    {kComputation, "name", 1, Type::kText},
    {kComputation, "instructions", 2, Type::kMessage, kInstruction},
    {kComputation, "id", 5, Type::kInt},
    {kComputation, "root_id", 6, Type::kInt},
    {kComputation, "is_fusion_computation", 7, Type::kBool},
    {kComputation, "execution_thread", 8, Type::kText},
    {kInstruction, "name", 1, Type::kText},
    {kInstruction, "opcode", 2, Type::kText},
    {kInstruction, "shape", 3, Type::kMessage, kShape},
    {kInstruction, "metadata", 7, Type::kMessage, kMetadata},
    {kInstruction, "literal", 8, Type::kMessage, kLiteral},
    {kInstruction, "parameter_number", 9, Type::kInt},
    {kInstruction, "fusion_kind", 11, Type::kText},
    {kInstruction, "tuple_index", 13, Type::kInt},
    {kInstruction, "dimensions", 14, Type::kInt},
    {kInstruction, "window", 15, Type::kMessage, kWindow},
    {kInstruction, "convolution_dimension_numbers", 16, Type::kMessage, kConvDims},
    {kInstruction, "channel_id", 26, Type::kInt},
    {kInstruction, "custom_call_target", 28, Type::kText},
    {kInstruction, "dot_dimension_numbers", 30, Type::kMessage, kDotDims},
    {kInstruction, "fft_length", 32, Type::kInt},
    {kInstruction, "id", 35, Type::kInt},
    {kInstruction, "operand_ids", 36, Type::kInt},
    {kInstruction, "control_predecessor_ids", 37, Type::kInt},
    {kInstruction, "called_computation_ids", 38, Type::kInt},
    {kInstruction, "backend_config", 43, Type::kText},
    {kInstruction, "replica_groups", 49, Type::kMessage, kReplicaGroup},
    {kInstruction, "feature_group_count", 50, Type::kInt},
    {kInstruction, "batch_group_count", 58, Type::kInt},
    {kInstruction, "use_global_device_ids", 71, Type::kBool},
    {kInstruction, "collective_device_list", 87, Type::kMessage, kDeviceList},
    {kInstruction, "ragged_dot_dimension_numbers", 90, Type::kMessage, kRaggedDims},
    {kInstruction, "iota_collective_device_list", 92, Type::kMessage, kIotaGroups},
    {kInstruction, "backend_config_payload", 99, Type::kMessage, kPayload},
    {kPayload, "value", 1, Type::kText},
    {kPayload, "id", 2, Type::kInt},
    {kShape, "element_type", 2, Type::kEnum},
    {kShape, "dimensions", 3, Type::kInt},
    {kShape, "tuple_shapes", 4, Type::kMessage, kShape},
    {kShape, "layout", 5, Type::kMessage, kLayout},
    {kShape, "is_dynamic_dimension", 6, Type::kBool},
    {kLayout, "minor_to_major", 1, Type::kInt},
    {kLayout, "tiles", 6, Type::kMessage, kTile},
    {kLayout, "element_size_in_bits", 7, Type::kInt},
    {kLayout, "memory_space", 8, Type::kInt},
    {kLayout, "physical_shape", 10, Type::kMessage, kShape},
    {kLayout, "index_primitive_type", 11, Type::kEnum},
    {kLayout, "pointer_primitive_type", 12, Type::kEnum},
    {kLayout, "dynamic_shape_metadata_prefix_bytes", 15, Type::kInt},
    {kLayout, "tail_padding_alignment_in_elements", 16, Type::kInt},
    {kTile, "dimensions", 1, Type::kInt},
    {kMetadata, "op_type", 1, Type::kText},
    {kMetadata, "op_name", 2, Type::kText},
    {kMetadata, "source_file", 3, Type::kText},
    {kMetadata, "source_line", 4, Type::kInt},
    {kMetadata, "deduplicated_name", 12, Type::kText},
    {kMetadata, "stack_frame_id", 15, Type::kInt},
    {kMetadata, "scheduling_name", 16, Type::kText},
    {kLiteral, "shape", 1, Type::kMessage, kShape},
    {kLiteral, "preds", 2, Type::kBool},
    {kLiteral, "u8s", 3, Type::kText},
    {kLiteral, "s32s", 4, Type::kInt},
    {kLiteral, "s64s", 5, Type::kInt},
    {kLiteral, "u32s", 6, Type::kInt},
    {kLiteral, "u64s", 7, Type::kInt},
    {kLiteral, "f32s", 8, Type::kFloat},
    {kLiteral, "f64s", 9, Type::kDouble},
    {kLiteral, "f16s", 11, Type::kText},
    {kLiteral, "bf16s", 13, Type::kText},
    {kLiteral, "s8s", 15, Type::kText},
    {kLiteral, "u16s", 16, Type::kText},
    {kLiteral, "s16s", 17, Type::kText},
    {kWindow, "dimensions", 1, Type::kMessage, kWindowDim},
    {kWindowDim, "size", 1, Type::kInt},
    {kWindowDim, "stride", 2, Type::kInt},
    {kWindowDim, "padding_low", 3, Type::kInt},
    {kWindowDim, "padding_high", 4, Type::kInt},
    {kWindowDim, "window_dilation", 5, Type::kInt},
    {kWindowDim, "base_dilation", 6, Type::kInt},
    {kWindowDim, "window_reversal", 7, Type::kBool},
    {kConvDims, "kernel_input_feature_dimension", 3, Type::kInt},
    {kConvDims, "kernel_output_feature_dimension", 4, Type::kInt},
    {kConvDims, "kernel_spatial_dimensions", 6, Type::kInt},
    {kConvDims, "input_batch_dimension", 7, Type::kInt},
    {kConvDims, "input_feature_dimension", 8, Type::kInt},
    {kConvDims, "output_batch_dimension", 9, Type::kInt},
    {kConvDims, "output_feature_dimension", 10, Type::kInt},
    {kConvDims, "input_spatial_dimensions", 11, Type::kInt},
    {kConvDims, "output_spatial_dimensions", 12, Type::kInt},
    {kDotDims, "lhs_contracting_dimensions", 1, Type::kInt},
    {kDotDims, "rhs_contracting_dimensions", 2, Type::kInt},
    {kDotDims, "lhs_batch_dimensions", 3, Type::kInt},
    {kDotDims, "rhs_batch_dimensions", 4, Type::kInt},
    {kRaggedDims, "dot_dimension_numbers", 1, Type::kMessage, kDotDims},
    {kRaggedDims, "lhs_ragged_dimensions", 2, Type::kInt},
    {kRaggedDims, "rhs_group_dimensions", 3, Type::kInt},
    {kReplicaGroup, "replica_ids", 1, Type::kInt},
    {kDeviceList, "replica_groups", 1, Type::kMessage, kReplicaGroup},
    {kDeviceList, "iota_replica_group_list", 2, Type::kMessage, kIotaGroups},
    {kIotaGroups, "num_replica_groups", 1, Type::kInt},
    {kIotaGroups, "num_devices_per_group", 2, Type::kInt},
    {kAssignment, "logical_buffers", 1, Type::kMessage, kBuffer},
    {kAssignment, "buffer_allocations", 3, Type::kMessage, kAllocation},
    {kAssignment, "heap_simulator_traces", 4, Type::kMessage, kTrace},
    {kBuffer, "id", 1, Type::kInt},
    {kBuffer, "size", 2, Type::kInt},
    {kBuffer, "defined_at", 3, Type::kMessage, kDefinition},
    {kBuffer, "color", 4, Type::kInt},
    {kDefinition, "instruction_name", 2, Type::kText},
    {kDefinition, "shape_index", 3, Type::kInt},
    {kDefinition, "instruction_id", 4, Type::kInt},
    {kAllocation, "index", 1, Type::kInt},
    {kAllocation, "size", 2, Type::kInt},
    {kAllocation, "is_thread_local", 3, Type::kBool},
    {kAllocation, "is_entry_computation_parameter", 5, Type::kBool},
    {kAllocation, "parameter_number", 6, Type::kInt},
    {kAllocation, "maybe_live_out", 7, Type::kBool},
    {kAllocation, "color", 8, Type::kInt},
    {kAllocation, "assigned", 9, Type::kMessage, kAssigned},
    {kAllocation, "is_tuple", 11, Type::kBool},
    {kAllocation, "is_constant", 12, Type::kBool},
    {kAssigned, "logical_buffer_id", 1, Type::kInt},
    {kAssigned, "offset", 2, Type::kInt},
    {kAssigned, "size", 3, Type::kInt},
    {kTrace, "events", 1, Type::kMessage, kEvent},
    {kTrace, "buffer_allocation_index", 3, Type::kInt},
    {kEvent, "kind", 1, Type::kEnum},
    {kEvent, "buffer_id", 2, Type::kInt},
    {kEvent, "instruction_name", 4, Type::kText},
    {kEvent, "share_with_canonical_id", 5, Type::kInt},
};

// xla.PrimitiveType and HeapSimulatorTrace.Event.Kind.
int64_t EnumNumber(std::string_view name) {
  constexpr std::string_view kTypes[] = {
      "PRIMITIVE_TYPE_INVALID",
      "PRED",
      "S8",
      "S16",
      "S32",
      "S64",
      "U8",
      "U16",
      "U32",
      "U64",
      "F16",
      "F32",
      "F64",
      "TUPLE",
      "OPAQUE_TYPE",
      "C64",
      "BF16",
      "TOKEN",
      "C128",
      "F8E5M2",
      "F8E4M3FN",
      "S4",
      "U4",
      "F8E4M3B11FNUZ",
      "F8E5M2FNUZ",
      "F8E4M3FNUZ",
      "S2",
      "U2",
      "F8E4M3",
      "F8E3M4",
      "S1",
      "U1",
      "F4E2M1FN",
      "F8E8M0FNU",
      "BUFFER",
      "F6E3M2FN",
      "F6E2M3FN",
  };
  for (size_t i = 0; i < std::size(kTypes); ++i) {
    if (name == kTypes[i]) return static_cast<int64_t>(i);
  }
  if (name == "ALLOC") return 0;
  if (name == "FREE") return 1;
  if (name == "SHARE_WITH") return 2;
  return -1;
}

const Field* Find(Message in, std::string_view name) {
  for (const Field& field : kFields) {
    if (field.in == in && field.name == name) return &field;
  }
  return nullptr;
}

bool ToInt(std::string_view text, int64_t* value) {
  const char* const end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, *value);
  if (error == std::errc::result_out_of_range) {
    uint64_t large = 0;
    const auto result = std::from_chars(text.data(), end, large);
    *value = static_cast<int64_t>(large);
    return result.ec == std::errc() && result.ptr == end;
  }
  return error == std::errc() && stop == end && !text.empty();
}

class Converter {
 public:
  bool Write(const TextMessage& message, Message type, std::string& out) {
    protozero::pbf_writer writer(out);
    for (const TextField& given : message.Fields()) {
      const Field* const field = Find(type, given.name);
      if (field == nullptr) continue;
      if ((field->type == Type::kMessage) != !given.message.empty()) {
        return Fail(given, field->type == Type::kMessage ? "a message" : "no message");
      }
      if (!WriteField(given, *field, writer)) return false;
    }
    return true;
  }
  const std::string& error() const { return error_; }

 private:
  bool WriteField(const TextField& given, const Field& field, protozero::pbf_writer& writer) {
    int64_t number = 0;
    switch (field.type) {
      case Type::kInt:
        if (!ToInt(given.text, &number)) return Fail(given, "a number");
        writer.add_int64(field.number, number);
        return true;
      case Type::kBool:
        writer.add_bool(field.number, given.text == "true" || given.text == "1");
        return true;
      case Type::kText:
        if (!given.is_string) return Fail(given, "a string");
        writer.add_string(field.number, given.text.data(), given.text.size());
        return true;
      case Type::kEnum:
        number = EnumNumber(given.text);
        if (number < 0 && !ToInt(given.text, &number)) return Fail(given, "a known word");
        writer.add_int64(field.number, number);
        return true;
      case Type::kFloat:
      case Type::kDouble:
        return WriteReal(given, field, writer);
      case Type::kMessage: {
        std::string inner;
        if (!Write(given.message, field.message, inner)) return false;
        writer.add_message(field.number, inner);
        return true;
      }
    }
    return false;
  }

  // Packed, because the reader of literals supports only that.
  bool WriteReal(const TextField& given, const Field& field, protozero::pbf_writer& writer) {
    double value = 0;
    const char* const end = given.text.data() + given.text.size();
    const auto [stop, error] = std::from_chars(given.text.data(), end, value);
    if (error != std::errc() || stop != end) return Fail(given, "a number");
    if (field.type == Type::kDouble) {
      writer.add_packed_double(field.number, &value, &value + 1);
    } else {
      const auto single = static_cast<float>(value);
      writer.add_packed_float(field.number, &single, &single + 1);
    }
    return true;
  }

  bool Fail(const TextField& field, std::string_view wanted) {
    error_ =
        fmt::format("{}:{}: field '{}' needs {}", field.line, field.column, field.name, wanted);
    return false;
  }

  std::string error_;
};

}  // namespace

Result<std::string> HloProtoFromText(std::shared_ptr<const std::string> text) {
  XLATRACE_ASSIGN(const TextProto proto, TextProto::Read(std::move(text)));
  const TextMessage root = proto.root();
  const Message type = root.Has("hlo") ? kSnapshot : root.Has("hlo_module") ? kHloProto : kModule;
  if (type == kModule && !root.Has("computations")) {
    return MakeError("no HLO module in this text-format proto");
  }
  std::string bytes;
  Converter converter;
  if (!converter.Write(root, type, bytes)) return MakeError(converter.error());
  return bytes;
}

}  // namespace xlatrace::hlo
