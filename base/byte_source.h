// SPDX-License-Identifier: Apache-2.0

// A file with random access, for formats that are too large to hold in memory and that cannot be
// read sequentially.
//
// Plain files are read in place. Compressed files are inflated first: small ones into memory,
// larger ones into an unnamed file in $TMPDIR or /var/tmp, which is deleted with the source. Files
// are not mapped, because a reader of a mapped file crashes when another process truncates it.
//
// Ownership: OfBytes borrows. Thread-safety: ReadAt is re-entrant.

#ifndef XLATRACE_BASE_BYTE_SOURCE_H_
#define XLATRACE_BASE_BYTE_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace xlatrace {

class ByteSource {
 public:
  // Regular files only. gz, xz, zstd and bzip2 are inflated, with the limits of InflateStream.
  // Above `held_bytes`, the inflated bytes go to a file, a megabyte at a time.
  static Result<ByteSource> Open(const std::string& path, size_t held_bytes = size_t{64} << 20);
  static ByteSource OfBytes(std::string_view bytes);

  ByteSource(ByteSource&& other) noexcept;
  ByteSource& operator=(ByteSource&&) = delete;
  ~ByteSource();

  // Inflated size in bytes.
  uint64_t size() const { return size_; }

  // Copies up to `count` bytes from `offset` on; fewer at the end, and if the file was truncated or
  // became unreadable.
  size_t ReadAt(uint64_t offset, char* buffer, size_t count) const;

 private:
  ByteSource() = default;
  static Result<ByteSource> Inflated(const std::string& path, size_t held_bytes);

  int fd_ = -1;             // -1: the bytes are in memory.
  std::string own_;         // Bytes in memory, if the source owns them.
  std::string_view bytes_;  // Bytes in memory, owned or borrowed.
  bool owns_bytes_ = false;
  uint64_t size_ = 0;
};

}  // namespace xlatrace

#endif  // XLATRACE_BASE_BYTE_SOURCE_H_
