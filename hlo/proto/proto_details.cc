// SPDX-License-Identifier: Apache-2.0
#include "hlo/proto/proto_details.h"

#include <algorithm>

#include "hlo/op_details.h"

namespace xlatrace::hlo {

using model::Slice;

bool ProtoDetails::Read(Fields& fields) {
  switch (fields.Key()) {
    case VarintKey(14):
    case BytesKey(14):
      fields.Ints([&](int64_t dim) { dimensions_.push_back(dim); });
      return true;
    case BytesKey(15):
      window_ = ReadWindow(fields.Bytes());
      break;
    case BytesKey(16):
      convolution_ = ReadConvolution(fields.Bytes());
      break;
    case VarintKey(26):
      details_.has_channel = fields.Int() > 0;
      break;
    case VarintKey(32):
    case BytesKey(32):
      fields.Ints([&](int64_t length) { fft_length_.push_back(length); });
      break;
    case BytesKey(49):
      details_.largest_group = std::max(details_.largest_group, CountIds(fields.Bytes()));
      break;
    case VarintKey(50):
      details_.feature_group_count = fields.Int();
      break;
    case BytesKey(51):
      if (const uint8_t precision = ReadPrecision(fields.Bytes()); precision > 0) {
        details_.operand_precision = precision;
        break;
      }
      return true;
    case VarintKey(58):
      details_.batch_group_count = fields.Int();
      break;
    case VarintKey(71):
      details_.use_global_device_ids = fields.Bool();
      break;
    case BytesKey(87):
      ReadDeviceList(fields.Bytes());
      break;
    case BytesKey(90):
      ReadRaggedDot(fields.Bytes());
      break;
    case BytesKey(92):
      ReadIotaGroups(fields.Bytes());
      break;
    case BytesKey(93):
      ReadMeshGroups(fields.Bytes());
      break;
    default:
      return false;
  }
  used_ = true;
  return true;
}

// xla.PrecisionConfig: operand precisions (0 default, 1 high, 2 highest; 3 is packed s4) and the
// algorithm. ALG_DOT_F32_F32_F32 is as precise as "highest".
uint8_t ProtoDetails::ReadPrecision(std::string_view message) {
  constexpr int64_t kDotF32F32F32Code = 11;
  uint8_t precision = 0;
  Fields fields(message, position_);
  while (fields.Next()) {
    if (fields.Key() == VarintKey(1) || fields.Key() == BytesKey(1)) {
      fields.Ints([&](int64_t value) {
        if (value == 1 || value == 2) precision = std::max(precision, static_cast<uint8_t>(value));
      });
    } else if (fields.Key() == VarintKey(2)) {
      if (fields.Int() == kDotF32F32F32Code) precision = 2;
    } else {
      fields.Skip();
    }
  }
  return precision;
}

void ProtoDetails::Finish(model::Instruction& instruction) {
  const bool keeps_dimensions = !dimensions_.empty() && KeepsDimensions(instruction.opcode);
  if (!used_ && !keeps_dimensions) return;
  const auto keep = [&](const std::vector<int64_t>& numbers) {
    const Slice slice{static_cast<uint32_t>(module_.dim_pool.size()),
                      static_cast<uint32_t>(numbers.size())};
    module_.dim_pool.insert(module_.dim_pool.end(), numbers.begin(), numbers.end());
    return slice;
  };
  if (keeps_dimensions) details_.dimensions = keep(dimensions_);
  details_.window = keep(window_);
  details_.convolution_dims = keep(convolution_);
  details_.fft_length = keep(fft_length_);
  // Zero is proto3's default: protos of before the field existed mean one group.
  if (details_.feature_group_count == 0) details_.feature_group_count = 1;
  if (details_.batch_group_count == 0) details_.batch_group_count = 1;
  if (!ragged_contracting_.empty()) instruction.lhs_contracting_dims = keep(ragged_contracting_);
  MutableDetails(module_, instruction) = details_;
}

// xla.Window; one number set is xla.WindowDimension.
std::vector<int64_t> ProtoDetails::ReadWindow(std::string_view message) {
  std::vector<int64_t> out;
  Fields fields(message, position_);
  while (fields.Next()) {
    if (fields.Key() != BytesKey(1)) {
      fields.Skip();
      continue;
    }
    int64_t dim[8] = {};
    Fields parts(fields.Bytes(), position_);
    while (parts.Next()) {
      const uint32_t number = parts.Key() >> 3;
      if (number <= 7 && parts.Key() == VarintKey(number)) {
        dim[number] = parts.Int();
      } else {
        parts.Skip();
      }
    }
    for (const int one_by_default : {2, 5, 6}) {
      if (dim[one_by_default] == 0) dim[one_by_default] = 1;
    }
    if (out.size() < 7 * kMaxSpatialDims) out.insert(out.end(), dim + 1, dim + 8);
  }
  return out;
}

// xla.ConvolutionDimensionNumbers.
std::vector<int64_t> ProtoDetails::ReadConvolution(std::string_view message) {
  std::vector<int64_t> out(6, 0);
  std::vector<int64_t> spatial[3];  // Input, kernel, output.
  Fields fields(message, position_);
  while (fields.Next()) {
    switch (fields.Key()) {
      case VarintKey(7):
        out[0] = fields.Int();
        break;
      case VarintKey(8):
        out[1] = fields.Int();
        break;
      case VarintKey(3):
        out[2] = fields.Int();
        break;
      case VarintKey(4):
        out[3] = fields.Int();
        break;
      case VarintKey(9):
        out[4] = fields.Int();
        break;
      case VarintKey(10):
        out[5] = fields.Int();
        break;
      case VarintKey(11):
      case BytesKey(11):
        fields.Ints([&](int64_t dim) { spatial[0].push_back(dim); });
        break;
      case VarintKey(6):
      case BytesKey(6):
        fields.Ints([&](int64_t dim) { spatial[1].push_back(dim); });
        break;
      case VarintKey(12):
      case BytesKey(12):
        fields.Ints([&](int64_t dim) { spatial[2].push_back(dim); });
        break;
      default:
        fields.Skip();
    }
  }
  const size_t rank = spatial[0].size();
  if (rank > kMaxSpatialDims || spatial[1].size() != rank || spatial[2].size() != rank) return {};
  for (const std::vector<int64_t>& dims : spatial) out.insert(out.end(), dims.begin(), dims.end());
  return out;
}

// xla.ReplicaGroup.
int64_t ProtoDetails::CountIds(std::string_view replica_group) {
  int64_t count = 0;
  Fields fields(replica_group, position_);
  while (fields.Next()) {
    if (fields.Key() == VarintKey(1) || fields.Key() == BytesKey(1)) {
      fields.Ints([&](int64_t) { ++count; });
    } else {
      fields.Skip();
    }
  }
  return count;
}

// xla.CollectiveDeviceListProto: groups, or (until 2026-01) an iota list.
void ProtoDetails::ReadDeviceList(std::string_view message) {
  Fields fields(message, position_);
  while (fields.Next()) {
    if (fields.Key() == BytesKey(1)) {
      details_.largest_group = std::max(details_.largest_group, CountIds(fields.Bytes()));
    } else if (fields.Key() == BytesKey(2)) {
      ReadIotaGroups(fields.Bytes());
    } else {
      fields.Skip();
    }
  }
}

// xla.IotaReplicaGroupListProto: number of groups, devices in each.
void ProtoDetails::ReadIotaGroups(std::string_view message) {
  Fields fields(message, position_);
  while (fields.Next()) {
    if (fields.Key() == VarintKey(2)) {
      details_.largest_group = std::max(details_.largest_group, fields.Int());
    } else {
      fields.Skip();
    }
  }
}

// xla.MeshAxesReplicaGroupListProto: a mesh of named axes, and the axes (or parts of them) that a
// group spans.
void ProtoDetails::ReadMeshGroups(std::string_view message) {
  const auto numbers = [&](std::string_view part, auto visit) {
    Fields fields(part, position_);
    while (fields.Next()) {
      const uint32_t field = fields.Key() >> 3;
      if (fields.Key() == VarintKey(field)) {
        visit(field, fields.Int());
      } else {
        fields.Skip();
      }
    }
  };
  const auto messages = [&](std::string_view part, uint32_t number, auto visit) {
    Fields fields(part, position_);
    while (fields.Next()) {
      if (fields.Key() == BytesKey(number)) {
        visit(fields.Bytes());
      } else {
        fields.Skip();
      }
    }
  };
  std::vector<int64_t> sizes;
  messages(message, 1, [&](std::string_view mesh) {
    messages(mesh, 1, [&](std::string_view axis) {
      sizes.push_back(1);
      numbers(axis, [&](uint32_t field, int64_t value) {
        if (field == 2) sizes.back() = value;
      });
    });
  });
  int64_t product = 1;
  messages(message, 2, [&](std::string_view axis) {
    int64_t index = 0;
    int64_t size = 0;
    numbers(axis, [&](uint32_t field, int64_t value) {
      if (field == 1) index = value;
    });
    messages(axis, 2, [&](std::string_view part) {
      numbers(part, [&](uint32_t field, int64_t value) {
        if (field == 2) size = value;
      });
    });
    if (size == 0 && index >= 0 && static_cast<uint64_t>(index) < sizes.size()) {
      size = sizes[static_cast<size_t>(index)];
    }
    if (size > 0 && __builtin_mul_overflow(product, size, &product)) product = INT64_MAX;
  });
  details_.largest_group = std::max(details_.largest_group, product);
}

// xla.RaggedDotDimensionNumbers: dot dimensions, ragged dimensions, group dimensions.
void ProtoDetails::ReadRaggedDot(std::string_view message) {
  Fields fields(message, position_);
  while (fields.Next()) {
    switch (fields.Key()) {
      case BytesKey(1): {
        Fields dot(fields.Bytes(), position_);
        while (dot.Next()) {
          if (dot.Key() == VarintKey(1) || dot.Key() == BytesKey(1)) {
            dot.Ints([&](int64_t dim) { ragged_contracting_.push_back(dim); });
          } else {
            dot.Skip();
          }
        }
        break;
      }
      case VarintKey(3):
      case BytesKey(3):
        fields.Ints([&](int64_t) { ++details_.rhs_group_dims; });
        break;
      default:
        fields.Skip();
    }
  }
}

}  // namespace xlatrace::hlo
