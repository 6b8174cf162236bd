// SPDX-License-Identifier: Apache-2.0

// Inflates gzip from a source that gives its bytes in pieces, and checks what it says of itself.
//
// zlib itself rather than libarchive's filter: that one looks at no checksum, so a file of which
// bytes were changed on the way would be read as if whole, and it throws away the last block of a
// file that is cut off.
// Members that follow one another are one text (RFC 1952, 2.2); what follows the last member and
// is none is left alone, as gzip(1) does.
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

  // Fills up to `size` bytes; 0 at the end. Gives all that can be inflated, then the error: a
  // reason such as "it is cut off", without a name of the source.
  Result<size_t> Read(char* buffer, size_t size);
  // Of the source, so far.
  uint64_t bytes_consumed() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace xlatrace

#endif  // XLATRACE_BASE_GZIP_INFLATER_H_
