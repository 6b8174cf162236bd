// SPDX-License-Identifier: Apache-2.0

// A file that is read at any place: for formats too large to hold that cannot be read front to
// back.
//
// Plain files are read where they lie. Compressed ones are inflated first: small ones into memory,
// larger ones into a file without a name in $TMPDIR or /var/tmp, which is gone with the source.
// Not mapped: a mapped file that somebody else shortens kills the reader.
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
  // Regular files only; gz, xz, zstd and bzip2 are inflated, with the limits of InflateStream; what
  // is larger than `held_bytes` then goes to a file, in steps of a megabyte.
  static Result<ByteSource> Open(const std::string& path, size_t held_bytes = size_t{64} << 20);
  static ByteSource OfBytes(std::string_view bytes);

  ByteSource(ByteSource&& other) noexcept;
  ByteSource& operator=(ByteSource&&) = delete;
  ~ByteSource();

  // Bytes, inflated.
  uint64_t size() const { return size_; }

  // Copies up to `count` bytes from `offset` on; fewer at the end, and where the file has become
  // shorter or cannot be read any more.
  size_t ReadAt(uint64_t offset, char* buffer, size_t count) const;

 private:
  ByteSource() = default;
  static Result<ByteSource> Inflated(const std::string& path, size_t held_bytes);

  int fd_ = -1;             // Or else
  std::string own_;         // the bytes,
  std::string_view bytes_;  // owned or borrowed.
  bool owns_bytes_ = false;
  uint64_t size_ = 0;
};

}  // namespace xlatrace

#endif  // XLATRACE_BASE_BYTE_SOURCE_H_
