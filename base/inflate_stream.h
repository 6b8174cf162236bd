// SPDX-License-Identifier: Apache-2.0

// Reads a file sequentially and inflates gz, xz, zstd and bzip2, in blocks, for files that are too
// large to hold in memory. Other files are read unchanged.
//
// Limits: like Inflate (base/compress.h) it rejects a compression ratio that no real file has. A
// bomb is an error after at most some hundred megabytes, none of which stays in memory.
// Thread-safety: one thread.

#ifndef XLATRACE_BASE_INFLATE_STREAM_H_
#define XLATRACE_BASE_INFLATE_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"

namespace xlatrace {

class InflateStream {
 public:
  // Regular files only. `max_bytes` limits the inflated size.
  static Result<InflateStream> Open(const std::string& path,
                                    uint64_t max_bytes = uint64_t{1} << 40);
  InflateStream(InflateStream&&) noexcept;
  ~InflateStream();

  // Fills up to `size` bytes; 0 at the end. A truncated compressed file returns its content first,
  // then an error.
  Result<size_t> Read(char* buffer, size_t size);

 private:
  struct State;
  explicit InflateStream(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace xlatrace

#endif  // XLATRACE_BASE_INFLATE_STREAM_H_
