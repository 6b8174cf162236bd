// SPDX-License-Identifier: Apache-2.0

// Reads the fields of a protobuf message that is too large for memory, through a moving window.
//
// Reading throws protozero::exception like protozero::pbf_reader for the same bytes. A source that
// ends early is read as a truncated message.
//
// Thread-safety: one thread per stream; streams may share a source.

#ifndef XLATRACE_IMPORTERS_COMMON_FIELD_STREAM_H_
#define XLATRACE_IMPORTERS_COMMON_FIELD_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <protozero/pbf_reader.hpp>

#include "base/byte_source.h"

namespace xlatrace::importers {

// Bytes of a source.
struct ByteRange {
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t end() const { return offset + size; }
};

class FieldStream {
 public:
  FieldStream(const ByteSource& source, ByteRange message);

  // Moves to the next field and skips unread parts of the last one; false at the end.
  bool Next();

  // Key of a field, size of its payload, and the first bytes of the payload (at most 64).
  using Begins = std::function<bool(uint32_t key, uint64_t size, std::string_view head)>;
  // After Next threw: skips to the first later field with a one-byte key, a length and an end
  // inside the message that `begins` accepts. False: there is no such field, and Next returns
  // false.
  bool Resume(const Begins& begins);
  // Position at which Next continues.
  uint64_t next_offset() const { return end_of_field_; }
  // After Next threw because a length-delimited field ends beyond the message: the available bytes
  // of the field. Otherwise empty.
  ByteRange Remains() const { return remains_; }
  uint32_t field() const { return key_ >> 3; }
  // field() << 3 | wire type, for switches.
  uint32_t key() const { return key_; }
  uint64_t field_offset() const { return field_; }  // Position of the key of the field.

  // The place of a length-delimited field's payload.
  ByteRange Payload() const { return {payload_, end_of_field_ - payload_}; }
  // The whole payload; valid until the next call.
  std::string_view View();
  uint64_t Varint() const { return value_; }
  // Appends key and payload unchanged.
  void AppendTo(std::vector<char>& out);

 private:
  // At least `count` bytes from at_ on, or all up to the end.
  std::string_view Ahead(size_t count);
  uint64_t ReadVarint();

  const ByteSource& source_;
  const uint64_t end_;
  uint64_t at_;  // Next byte to read.
  uint32_t key_ = 0;
  uint64_t field_ = 0;
  uint64_t payload_ = 0;
  uint64_t end_of_field_;
  uint64_t value_ = 0;
  ByteRange remains_;
  std::string window_;
  uint64_t window_start_ = 0;
  size_t window_size_ = 0;  // Number of bytes in the window.
};

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_COMMON_FIELD_STREAM_H_
