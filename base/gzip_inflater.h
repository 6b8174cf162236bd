// SPDX-License-Identifier: Apache-2.0

// Inflates gzip from a source that returns its bytes in pieces, and checks size and checksum.
//
// It does not use libarchive's filter for two reasons. That filter ignores the checksum, so that
// modified bytes would be accepted. It also discards the last block of a truncated file.
// Consecutive members are one text (RFC 1952, 2.2). Other bytes after the last member are ignored,
// as in gzip(1).
//
// Thread-safety: one thread.

#ifndef XLATRACE_BASE_GZIP_INFLATER_H_
#define XLATRACE_BASE_GZIP_INFLATER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "base/error.h"

namespace xlatrace {

class GzipInflater {
 public:
  // Next bytes of the source, valid until the next call; empty at its end.
  using Source = std::function<Result<std::string_view>()>;

  explicit GzipInflater(Source source);
  GzipInflater(GzipInflater&&) noexcept;
  ~GzipInflater();

  // Fills up to `size` bytes; 0 at the end. Returns everything that can be inflated first, then the
  // error, a reason such as "it is cut off" without the name of the source.
  Result<size_t> Read(char* buffer, size_t size);
  // Bytes read from the source so far.
  uint64_t bytes_consumed() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace xlatrace

#endif  // XLATRACE_BASE_GZIP_INFLATER_H_
