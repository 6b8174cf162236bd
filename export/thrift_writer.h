// SPDX-License-Identifier: Apache-2.0

// Writes the part of Thrift's compact protocol that footers of Parquet need.
//
// Format: github.com/apache/thrift doc/specs/thrift-compact-protocol.md. Thread-safety: one thread.

#ifndef XLATRACE_EXPORT_THRIFT_WRITER_H_
#define XLATRACE_EXPORT_THRIFT_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace xlatrace::exporter {

class ThriftWriter {
 public:
  explicit ThriftWriter(std::string& out) : out_(out) {}

  // Types of fields and elements, under the protocol's numbers.
  enum Type { kInt32 = 5, kInt64 = 6, kText = 8, kList = 9, kStruct = 12 };

  // Fields of a struct, by ascending id.
  void Int32(int id, int64_t value) { Head(id, kInt32), Zigzag(value); }
  void Int64(int id, int64_t value) { Head(id, kInt64), Zigzag(value); }
  void Text(int id, std::string_view text) { Head(id, kText), Bytes(text); }
  void BeginStruct(int id) {
    Head(id, kStruct);
    BeginElement();
  }
  void EndStruct() {
    out_ += '\0';
    last_ids_.pop_back();
  }
  // Call it before `size` elements: structs between BeginElement and EndStruct, or plain values.
  void List(int id, Type element, size_t size) {
    Head(id, kList);
    if (size < 15) {
      out_ += static_cast<char>(size << 4 | static_cast<size_t>(element));
    } else {
      out_ += static_cast<char>(0xF0 | element);
      Varint(size);
    }
  }
  void BeginElement() { last_ids_.push_back(0); }
  void Zigzag(int64_t value) {
    Varint(static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
  }
  void Bytes(std::string_view text) {
    Varint(text.size());
    out_ += text;
  }

 private:
  void Head(int id, Type type) {
    const int step = id - last_ids_.back();
    last_ids_.back() = id;
    out_ += static_cast<char>(step << 4 | type);  // Ids lie close together.
  }
  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_ += static_cast<char>(value | 0x80);
    out_ += static_cast<char>(value);
  }

  std::string& out_;
  std::vector<int> last_ids_ = {0};
};

}  // namespace xlatrace::exporter

#endif  // XLATRACE_EXPORT_THRIFT_WRITER_H_
