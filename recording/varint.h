// SPDX-License-Identifier: Apache-2.0

// LEB128 varints and zig-zag, as in protobuf: the encoding of every number in a recording.
//
// Thread-safety: one thread per object.

#ifndef XLATRACE_RECORDING_VARINT_H_
#define XLATRACE_RECORDING_VARINT_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace xlatrace::recording {

inline uint64_t ZigZag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
inline int64_t UnZigZag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

class Encoder {
 public:
  void Number(uint64_t value) {
    if (bytes_.size() - size_ < 10) bytes_.resize(bytes_.size() * 2 + 4096);
    uint8_t* at = bytes_.data() + size_;
    while (value >= 0x80) {
      *at++ = static_cast<uint8_t>(value | 0x80);
      value >>= 7;
    }
    *at++ = static_cast<uint8_t>(value);
    size_ = static_cast<size_t>(at - bytes_.data());
  }
  void Signed(int64_t value) { Number(ZigZag(value)); }
  // Difference of two numbers of any size; short if they are close to each other.
  void Delta(uint64_t value, uint64_t before) { Signed(static_cast<int64_t>(value - before)); }
  void Text(std::string_view text) {
    Number(text.size());
    Bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  }
  void Bytes(const uint8_t* data, size_t size) {
    if (bytes_.size() - size_ < size) bytes_.resize((size_ + size) * 2);
    if (size != 0) std::memcpy(bytes_.data() + size_, data, size);
    size_ += size;
  }

  const uint8_t* data() const { return bytes_.data(); }
  size_t size() const { return size_; }
  void Clear() { size_ = 0; }
  void CutTo(size_t size) { size_ = size; }

 private:
  std::vector<uint8_t> bytes_;  // Allocated ahead; the first size_ bytes are valid.
  size_t size_ = 0;
};

// Reads the output of Encoder. Past the end, or for a number of more than 64 bits, all reads return
// 0 and ok() is false from then on.
class Decoder {
 public:
  Decoder(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}

  uint64_t Number() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) return Fail();
      const uint8_t byte = *at_++;
      if (shift == 63 && byte > 1) return Fail();
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    return Fail();
  }
  int64_t Signed() { return UnZigZag(Number()); }
  uint64_t Delta(uint64_t before) { return before + static_cast<uint64_t>(Signed()); }
  std::string_view Text() {
    const uint64_t size = Number();
    if (size > static_cast<uint64_t>(end_ - at_)) {
      Fail();
      return {};
    }
    const std::string_view text(reinterpret_cast<const char*>(at_), size);
    at_ += size;
    return text;
  }

  bool ok() const { return ok_; }
  bool done() const { return at_ == end_; }

 private:
  uint64_t Fail() {
    ok_ = false;
    at_ = end_;
    return 0;
  }

  const uint8_t* at_;
  const uint8_t* end_;
  bool ok_ = true;
};

}  // namespace xlatrace::recording

#endif  // XLATRACE_RECORDING_VARINT_H_
