// SPDX-License-Identifier: Apache-2.0
#include "hlo/proto/proto_shape.h"

#include <charconv>
#include <cstdint>
#include <iterator>
#include <limits>
#include <vector>

namespace xlatrace::hlo {
namespace {

// XLA's shapes have a few levels; the limit protects the stack from damaged files.
constexpr int kMaxProtoShapeDepth = 64;

constexpr int64_t kTupleTypeNumber = 13;
constexpr int64_t kBufferType = 34;

// xla.PrimitiveType, lower case, by number.
constexpr std::string_view kTypeNames[] = {
    "invalid",    "pred",       "s8",   "s16",      "s32",      "s64",    "u8",     "u16",
    "u32",        "u64",        "f16",  "f32",      "f64",      "tuple",  "opaque", "c64",
    "bf16",       "token",      "c128", "f8e5m2",   "f8e4m3fn", "s4",     "u4",     "f8e4m3b11fnuz",
    "f8e5m2fnuz", "f8e4m3fnuz", "s2",   "u2",       "f8e4m3",   "f8e3m4", "s1",     "u1",
    "f4e2m1fn",   "f8e8m0fnu",  "b",    "f6e3m2fn", "f6e2m3fn",
};

std::string_view TypeName(int64_t type) {
  return type >= 0 && type < static_cast<int64_t>(std::size(kTypeNames)) ? kTypeNames[type]
                                                                         : "invalid";
}

void AppendInt(int64_t value, std::string& out) {
  char digits[24];
  const auto end = std::to_chars(digits, std::end(digits), value).ptr;
  out.append(digits, end);
}

// Inside of one layout, after the minor-to-major list: ":" once, before the first item.
class LayoutItems {
 public:
  explicit LayoutItems(std::string& out) : out_(out) {}
  std::string& Item() {
    if (!started_) out_ += ':';
    started_ = true;
    return out_;
  }
  void Number(std::string_view open, int64_t value) {
    Item() += open;
    AppendInt(value, out_);
    out_ += ')';
  }

 private:
  std::string& out_;
  bool started_ = false;
};

void AppendTile(std::string_view tile, WirePosition& position, std::string& out) {
  out += '(';
  bool first = true;
  Fields fields(tile, position);
  while (fields.Next()) {
    switch (fields.Key()) {
      case VarintKey(1):
      case BytesKey(1):
        fields.Ints([&](int64_t dim) {
          if (!first) out += ',';
          first = false;
          if (dim == std::numeric_limits<int64_t>::min()) {
            out += '*';  // Combined with the next dimension.
          } else {
            AppendInt(dim, out);
          }
        });
        break;
      default:
        fields.Skip();
    }
  }
  out += ')';
}

void AppendSplitConfig(std::string_view config, WirePosition& position, std::string& out) {
  int64_t dimension = 0;
  std::string indices;
  Fields fields(config, position);
  while (fields.Next()) {
    switch (fields.Key()) {
      case VarintKey(1):
        dimension = fields.Int();
        break;
      case VarintKey(2):
      case BytesKey(2):
        fields.Ints([&](int64_t index) {
          if (!indices.empty()) indices += ',';
          AppendInt(index, indices);
        });
        break;
      default:
        fields.Skip();
    }
  }
  out += '(';
  AppendInt(dimension, out);
  out += ':';
  out += indices;
  out += ')';
}

bool AppendShapeAt(std::string_view shape, WirePosition& position, int depth, std::string& out);

// With `scalar`, an empty layout prints as an empty text.
bool AppendLayout(std::string_view layout, bool scalar, WirePosition& position, int depth,
                  std::string& out) {
  const size_t start = out.size();
  out += '{';
  // Items print in another order than the fields lie in the message.
  std::vector<std::string_view> tiles;
  std::vector<std::string_view> splits;
  std::string_view physical_shape;
  bool has_physical_shape = false;
  int64_t element_size = 0;
  int64_t memory_space = 0;
  int64_t index_type = 0;
  int64_t pointer_type = 0;
  int64_t prefix_bytes = 0;
  int64_t tail_padding = 0;
  bool first = true;
  Fields fields(layout, position);
  while (fields.Next()) {
    switch (fields.Key()) {
      case VarintKey(1):
      case BytesKey(1):
        fields.Ints([&](int64_t dim) {
          if (!first) out += ',';
          first = false;
          AppendInt(dim, out);
        });
        break;
      case BytesKey(6):
        tiles.push_back(fields.Bytes());
        break;
      case VarintKey(7):
        element_size = fields.Int();
        break;
      case VarintKey(8):
        memory_space = fields.Int();
        break;
      case BytesKey(10):
        physical_shape = fields.Bytes();
        has_physical_shape = true;
        break;
      case VarintKey(11):
        index_type = fields.Int();
        break;
      case VarintKey(12):
        pointer_type = fields.Int();
        break;
      case VarintKey(15):
        prefix_bytes = fields.Int();
        break;
      case VarintKey(16):
        tail_padding = fields.Int();
        break;
      case BytesKey(17):
        splits.push_back(fields.Bytes());
        break;
      default:
        fields.Skip();
    }
  }
  LayoutItems items(out);
  if (!tiles.empty()) items.Item() += 'T';
  for (const std::string_view tile : tiles) AppendTile(tile, position, out);
  if (tail_padding > 1) items.Number("L(", tail_padding);
  if (index_type != 0) items.Item().append("#(").append(TypeName(index_type)) += ')';
  if (pointer_type != 0) items.Item().append("*(").append(TypeName(pointer_type)) += ')';
  if (element_size != 0) items.Number("E(", element_size);
  if (memory_space != 0) items.Number("S(", memory_space);
  if (!splits.empty()) items.Item() += "SC";
  for (const std::string_view split : splits) AppendSplitConfig(split, position, out);
  if (has_physical_shape) {
    items.Item() += "P(";
    if (!AppendShapeAt(physical_shape, position, depth + 1, out)) return false;
    out += ')';
  }
  if (prefix_bytes > 0) items.Number("M(", prefix_bytes);
  out += '}';
  if (scalar && out.size() == start + 2) out.resize(start);
  return true;
}

bool AppendShapeAt(std::string_view shape, WirePosition& position, int depth, std::string& out) {
  if (depth > kMaxProtoShapeDepth) return false;
  int64_t type = 0;
  // Real arrays have few dimensions; a vector per shape is cheap because shapes are interned.
  std::vector<int64_t> dims;
  std::vector<bool> dynamic;
  std::vector<std::string_view> elements;
  std::string_view layout;
  bool has_layout = false;
  Fields fields(shape, position);
  while (fields.Next()) {
    switch (fields.Key()) {
      case VarintKey(2):
        type = fields.Int();
        break;
      case VarintKey(3):
      case BytesKey(3):
        fields.Ints([&](int64_t dim) { dims.push_back(dim); });
        break;
      case BytesKey(4):
        elements.push_back(fields.Bytes());
        break;
      case BytesKey(5):
        layout = fields.Bytes();
        has_layout = true;
        break;
      case VarintKey(6):
      case BytesKey(6):
        fields.Ints([&](int64_t is) { dynamic.push_back(is != 0); });
        break;
      default:
        fields.Skip();
    }
  }
  if (type == kTupleTypeNumber || type == kBufferType) {
    if (type == kBufferType) out += 'b';
    out += '(';
    for (size_t i = 0; i < elements.size(); ++i) {
      if (i > 0) out += ", ";
      if (!AppendShapeAt(elements[i], position, depth + 1, out)) return false;
    }
    out += ')';
    return true;
  }
  out += TypeName(type);
  out += '[';
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) out += ',';
    if (dims[i] == std::numeric_limits<int64_t>::min()) {
      out += '?';  // Unbounded dynamic.
      continue;
    }
    if (i < dynamic.size() && dynamic[i]) out += "<=";
    AppendInt(dims[i], out);
  }
  out += ']';
  const bool is_array = TypeName(type) != "token" && TypeName(type) != "opaque";
  if (!has_layout || !is_array) return true;
  return AppendLayout(layout, dims.empty(), position, depth, out);
}

}  // namespace

bool AppendShape(std::string_view shape_proto, WirePosition& position, std::string& out) {
  return AppendShapeAt(shape_proto, position, 0, out);
}

}  // namespace xlatrace::hlo
