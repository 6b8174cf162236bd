// SPDX-License-Identifier: Apache-2.0
#include "hlo/proto/proto_literal.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "hlo/proto/proto_shape.h"
#include "hlo/shape.h"

namespace xlatrace::hlo {
namespace {

constexpr int64_t kMaxElements = 10;
constexpr size_t kMaxRank = 3;  // From 4 on there are comments in between.
constexpr std::string_view kElided = "{...}";

template <typename T>
T Load(std::string_view bytes, size_t index) {
  T value{};
  if ((index + 1) * sizeof(T) <= bytes.size()) {
    std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  }
  return value;
}

double FromBits(uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

double FromHalf(uint16_t half) {
  const double sign = (half & 0x8000) != 0 ? -1 : 1;
  const int exponent = half >> 10 & 31;
  const int mantissa = half & 1023;
  if (exponent == 31) return mantissa != 0 ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

// The shortest of the two precisions that XLA tries which reads back to the same number.
std::string FloatText(double value, std::string_view type) {
  if (std::isnan(value)) return std::signbit(value) ? "-nan" : "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  const int exact = type == "f64" ? 17 : type == "f32" ? 9 : type == "f16" ? 5 : 4;
  const int digits = type == "f64" ? 15 : type == "f32" ? 6 : type == "f16" ? 3 : 2;
  std::string text = fmt::format("{:.{}g}", value, digits);
  if (type == "f64" || type == "f32") {
    const double read =
        type == "f64" ? std::strtod(text.c_str(), nullptr) : std::strtof(text.c_str(), nullptr);
    if (read == value) return text;
  }
  return fmt::format("{:.{}g}", value, exact);
}

// The elements of one array literal, each as text; empty if its form is unknown.
std::vector<std::string> Elements(std::string_view literal, std::string_view type, int64_t count,
                                  WirePosition& position) {
  std::vector<std::string> out;
  // Incomplete arrays are not usable.
  const auto bytes = [&](std::string_view raw, auto sample, auto format) {
    using T = decltype(sample);
    if (raw.size() != static_cast<size_t>(count) * sizeof(T)) return;
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
      out.push_back(format(Load<T>(raw, i)));
    }
  };
  const auto pairs = [&](std::string_view raw, auto sample, std::string_view part) {
    using T = decltype(sample);
    if (raw.size() != static_cast<size_t>(count) * 2 * sizeof(T)) return;
    for (size_t i = 0; i < 2 * static_cast<size_t>(count); i += 2) {
      out.push_back(fmt::format("({}, {})", FloatText(Load<T>(raw, i), part),
                                FloatText(Load<T>(raw, i + 1), part)));
    }
  };
  const auto number = [](auto value) { return std::to_string(value); };
  const auto real = [&](auto value) { return FloatText(value, type); };
  Fields fields(literal, position);
  while (fields.Next()) {
    const uint32_t key = fields.Key();
    const uint32_t field = key >> 3;
    const bool is_int_list = field == 2 || (field >= 4 && field <= 7);
    if (is_int_list && (key == VarintKey(field) || key == BytesKey(field))) {
      const bool known = (field == 2 && type == "pred") || (field == 4 && type == "s32") ||
                         (field == 5 && type == "s64") || (field == 6 && type == "u32") ||
                         (field == 7 && type == "u64");
      fields.Ints([&](int64_t value) {
        if (!known || static_cast<int64_t>(out.size()) > count) return;
        if (type == "u64") {
          out.push_back(std::to_string(static_cast<uint64_t>(value)));
        } else {
          out.push_back(std::to_string(type == "pred" ? int64_t{value != 0} : value));
        }
      });
      continue;
    }
    if (key != BytesKey(field)) {
      fields.Skip();
      continue;
    }
    const std::string_view raw = fields.Bytes();
    if (field == 3 && type == "u8") bytes(raw, uint8_t{}, number);
    if (field == 15 && type == "s8") bytes(raw, int8_t{}, number);
    if (field == 16 && type == "u16") bytes(raw, uint16_t{}, number);
    if (field == 17 && type == "s16") bytes(raw, int16_t{}, number);
    if (field == 8 && type == "f32") bytes(raw, float{}, real);
    if (field == 9 && type == "f64") bytes(raw, double{}, real);
    if (field == 12 && type == "c64") pairs(raw, float{}, "f32");
    if (field == 18 && type == "c128") pairs(raw, double{}, "f64");
    if (field == 11 && type == "f16") {
      bytes(raw, uint16_t{}, [&](uint16_t half) { return FloatText(FromHalf(half), type); });
    }
    if (field == 13 && type == "bf16") {
      bytes(raw, uint16_t{}, [&](uint16_t half) {
        return FloatText(FromBits(static_cast<uint32_t>(half) << 16), type);
      });
    }
  }
  if (static_cast<int64_t>(out.size()) != count) out.clear();
  return out;
}

// "{1, 2}" of a vector; inside of others "{ 1, 2 }", but "{1}".
void AppendArray(const std::vector<std::string>& elements, const std::vector<int64_t>& dims,
                 const std::vector<size_t>& strides, size_t dim, size_t at, std::string& out) {
  if (dim == dims.size()) {
    out += at < elements.size() ? elements[at] : std::string();
    return;
  }
  const auto size = static_cast<size_t>(dims[dim]);
  const bool innermost = dim + 1 == dims.size();
  const bool blanks = innermost ? dims.size() > 1 && size > 1 : size > 0;
  out.append(blanks ? "{ " : "{");
  for (size_t i = 0; i < size; ++i) {
    if (i > 0) out.append(", ");
    AppendArray(elements, dims, strides, dim + 1, at + i * strides[dim], out);
  }
  out.append(blanks ? " }" : "}");
}

}  // namespace

std::string LiteralText(std::string_view literal_proto, WirePosition& position) {
  std::string shape_text;
  Fields fields(literal_proto, position);
  while (fields.Next()) {
    if (fields.Key() == BytesKey(1)) {
      if (!AppendShape(fields.Bytes(), position, shape_text)) return std::string(kElided);
    } else {
      fields.Skip();
    }
  }
  const ArrayShape shape = FirstLeaf(shape_text);
  if (IsTuple(shape_text) || shape.type.empty() || shape.dims.size() > kMaxRank) {
    return std::string(kElided);
  }
  const int64_t count = shape.elements();
  if (count < 0 || count > kMaxElements) return std::string(kElided);
  const std::vector<std::string> elements = Elements(literal_proto, shape.type, count, position);
  if (shape.dims.empty()) {
    if (elements.size() != 1) return std::string(kElided);
    if (shape.type != "pred") return elements[0];
    return elements[0] == "1" ? "true" : "false";
  }
  if (count > 0 && elements.empty()) return std::string(kElided);
  // The proto lists elements in the order of memory, the text row by row.
  std::vector<size_t> strides(shape.dims.size(), 1);
  size_t stride = 1;
  for (size_t i = 0; i < shape.dims.size(); ++i) {
    const size_t dim = i < shape.minor_to_major.size()
                           ? static_cast<size_t>(shape.minor_to_major[i])
                           : shape.dims.size() - 1 - i;
    if (dim >= shape.dims.size()) return std::string(kElided);
    strides[dim] = stride;
    stride *= static_cast<size_t>(shape.dims[dim]);
  }
  std::string out;
  AppendArray(elements, shape.dims, strides, 0, 0, out);
  return out;
}

}  // namespace xlatrace::hlo
