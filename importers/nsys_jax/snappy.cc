// SPDX-License-Identifier: Apache-2.0
#include "importers/nsys_jax/snappy.h"

#include <snappy.h>

namespace xlatrace::importers {

std::optional<std::string> SnappyInflate(std::string_view in, size_t max_bytes) {
  size_t size = 0;
  if (!snappy::GetUncompressedLength(in.data(), in.size(), &size)) return std::nullopt;
  // Three bytes make 64 at most, so what a few bytes claim is not made room for.
  if (size > max_bytes || size > 32 * in.size()) return std::nullopt;
  std::string out(size, '\0');
  if (!snappy::RawUncompress(in.data(), in.size(), out.data())) return std::nullopt;
  return out;
}

}  // namespace xlatrace::importers
