// SPDX-License-Identifier: Apache-2.0

// Reads a file from front to back, inflating gz, xz, zstd and bzip2 on the way: what is too large
// to hold is read in blocks. Files that are none of these are read as they are.
//
// Limits: like Inflate (base/compress.h) it refuses what grows more than any real file does, so a
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
  // Regular files only. `max_bytes`: of what comes out.
  static Result<InflateStream> Open(const std::string& path,
                                    uint64_t max_bytes = uint64_t{1} << 40);
  InflateStream(InflateStream&&) noexcept;
  ~InflateStream();

  // Fills up to `size` bytes; 0 at the end. A compressed file that is cut off gives what it holds
  // first, then an error.
  Result<size_t> Read(char* buffer, size_t size);

 private:
  struct State;
  explicit InflateStream(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace xlatrace

#endif  // XLATRACE_BASE_INFLATE_STREAM_H_
