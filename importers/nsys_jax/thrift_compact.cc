// SPDX-License-Identifier: Apache-2.0
#include "importers/nsys_jax/thrift_compact.h"

#include <utility>

namespace xlatrace::importers {
namespace {

constexpr int kMaxDepth = 64;
constexpr int kMaxValues = 1'000'000;

enum Type {
  kStop,
  kTrue,
  kFalse,
  kByte,
  kI16,
  kI32,
  kI64,
  kDouble8,
  kBinary,
  kList,
  kSet,
  kMap,
  kStruct
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest(bytes) {}

  bool Struct(ThriftValue& out, int depth) {
    if (depth > kMaxDepth) return false;
    int last = 0;
    while (true) {
      uint8_t head = 0;
      if (!Byte(head)) return false;
      const int type = head & 0x0F;
      if (type == kStop) return true;
      int field = last + (head >> 4);
      if (head >> 4 == 0) {
        int64_t id = 0;
        if (!Zigzag(id)) return false;
        field = static_cast<int>(id);
      }
      last = field;
      ThriftValue value;
      if (type == kTrue || type == kFalse) {
        value.integer = type == kTrue;
      } else if (!Value(type, value, depth + 1)) {
        return false;
      }
      out.fields[field] = std::move(value);
    }
  }

  std::string_view rest;

 private:
  bool Byte(uint8_t& out) {
    if (rest.empty()) return false;
    out = static_cast<uint8_t>(rest.front());
    rest.remove_prefix(1);
    return true;
  }
  bool Varint(uint64_t& out) {
    out = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      uint8_t byte = 0;
      if (!Byte(byte)) return false;
      out |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool Zigzag(int64_t& out) {
    uint64_t value = 0;
    if (!Varint(value)) return false;
    out = static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
    return true;
  }
  bool Skip(size_t size) {
    if (rest.size() < size) return false;
    rest.remove_prefix(size);
    return true;
  }
  bool Value(int type, ThriftValue& out, int depth) {
    if (++values_ > kMaxValues || depth > kMaxDepth) return false;
    switch (type) {
      case kTrue:
      case kFalse:
      case kByte: {
        uint8_t byte = 0;
        if (!Byte(byte)) return false;
        out.integer = static_cast<int8_t>(byte);
        return true;
      }
      case kI16:
      case kI32:
      case kI64:
        return Zigzag(out.integer);
      case kDouble8:
        return Skip(8);
      case kBinary: {
        uint64_t size = 0;
        if (!Varint(size) || size > rest.size()) return false;
        out.text = rest.substr(0, size);
        return Skip(size);
      }
      case kList:
      case kSet: {
        uint8_t head = 0;
        if (!Byte(head)) return false;
        uint64_t size = head >> 4;
        if (size == 15 && !Varint(size)) return false;
        // Every item takes a byte at least, but for structs of no fields, which take one too.
        if (size > rest.size()) return false;
        for (uint64_t i = 0; i < size; ++i) {
          out.items.emplace_back();
          if (!Value(head & 0x0F, out.items.back(), depth + 1)) return false;
        }
        return true;
      }
      case kMap: {
        uint64_t size = 0;
        if (!Varint(size)) return false;
        if (size == 0) return true;
        uint8_t types = 0;
        if (!Byte(types) || size > rest.size()) return false;
        ThriftValue ignored;
        for (uint64_t i = 0; i < size; ++i) {
          if (!Value(types >> 4, ignored, depth + 1)) return false;
          if (!Value(types & 0x0F, ignored, depth + 1)) return false;
        }
        return true;
      }
      case kStruct:
        return Struct(out, depth + 1);
      default:
        return false;
    }
  }

  int values_ = 0;
};

}  // namespace

const ThriftValue& ThriftValue::operator[](int field) const {
  static const ThriftValue kEmpty;
  const auto it = fields.find(field);
  return it == fields.end() ? kEmpty : it->second;
}

std::optional<ThriftValue> ReadThriftStruct(std::string_view& bytes) {
  Reader reader(bytes);
  ThriftValue value;
  if (!reader.Struct(value, 0)) return std::nullopt;
  bytes = reader.rest;
  return value;
}

}  // namespace xlatrace::importers
