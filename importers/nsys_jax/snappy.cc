#include "importers/nsys_jax/snappy.h"

#include <cstdint>

namespace xlatrace::importers {

std::optional<std::string> SnappyInflate(std::string_view in, size_t max_bytes) {
  size_t at = 0;
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(in[i]); };
  uint64_t size = 0;
  for (int shift = 0;; shift += 7) {
    if (at >= in.size() || shift > 28) return std::nullopt;
    size |= uint64_t{byte(at) & 0x7Fu} << shift;
    if (byte(at++) < 0x80) break;
  }
  // Three bytes make 64 at most, so what a few bytes claim is not made room for.
  if (size > max_bytes || size > 32 * in.size()) return std::nullopt;
  std::string out;
  out.reserve(size);
  while (at < in.size()) {
    const unsigned tag = byte(at++);
    if ((tag & 3) == 0) {  // Literal.
      size_t length = tag >> 2;
      if (length >= 60) {
        const size_t bytes = length - 59;
        if (in.size() - at < bytes) return std::nullopt;
        length = 0;
        for (size_t i = 0; i < bytes; ++i) length |= size_t{byte(at + i)} << (8 * i);
        at += bytes;
      }
      ++length;
      if (in.size() - at < length || size - out.size() < length) return std::nullopt;
      out.append(in, at, length);
      at += length;
      continue;
    }
    size_t length = 0;
    size_t offset = 0;
    const size_t offset_bytes = (tag & 3) == 1 ? 1 : (tag & 3) == 2 ? 2 : 4;
    if (in.size() - at < offset_bytes) return std::nullopt;
    for (size_t i = 0; i < offset_bytes; ++i) offset |= size_t{byte(at + i)} << (8 * i);
    at += offset_bytes;
    if (offset_bytes == 1) {
      length = 4 + ((tag >> 2) & 7);
      offset |= size_t{tag >> 5} << 8;
    } else {
      length = 1 + (tag >> 2);
    }
    if (offset == 0 || offset > out.size() || size - out.size() < length) return std::nullopt;
    // Source and target may overlap: byte by byte.
    for (size_t i = 0; i < length; ++i) out.push_back(out[out.size() - offset]);
  }
  if (out.size() != size) return std::nullopt;
  return out;
}

}  // namespace xlatrace::importers
