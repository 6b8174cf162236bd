// SPDX-License-Identifier: Apache-2.0

// Compression of bytes in memory: zstd for blobs in run.db, gzip for pages and exports, and gz, xz,
// zstd and bzip2 for input files.
//
// Every decompressor limits the size and the compression ratio of its output, so that a bomb is an
// error and never exhausts the memory. Thread-safety: re-entrant.

#ifndef XLATRACE_BASE_COMPRESS_H_
#define XLATRACE_BASE_COMPRESS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace xlatrace {

inline constexpr uint64_t kMaxInflatedBytes = uint64_t{8} << 30;
// Maximum compression ratio. Real files have a ratio of 10 to 60; a bomb has at least a thousand.
// Outputs below kInflateRatioFreeBytes may have any ratio.
inline constexpr uint64_t kMaxInflateRatio = 400;
inline constexpr uint64_t kInflateRatioFreeBytes = uint64_t{64} << 20;

std::string ZstdCompress(std::string_view bytes, int level = 3);
Result<std::string> ZstdDecompress(std::string_view bytes, uint64_t max_bytes = kMaxInflatedBytes);

// One gzip member without time and name, so that equal bytes give equal results. Empty if the
// memory is exhausted; there is no other error.
std::string GzipCompress(std::string_view bytes, int level = 6);

// True if `head` (at least 6 bytes) starts like gzip, xz, zstd or bzip2.
bool LooksCompressed(std::string_view head);

// Inflates gz, xz, zstd and bzip2, and one more layer inside of gz. Returns other bytes unchanged.
// `name` is for error messages.
Result<std::string> Inflate(std::string bytes, const std::string& name,
                            uint64_t max_bytes = kMaxInflatedBytes);

// ReadFile, then Inflate.
Result<std::string> ReadFileInflated(const std::string& path,
                                     uint64_t max_bytes = kMaxInflatedBytes);

}  // namespace xlatrace

#endif  // XLATRACE_BASE_COMPRESS_H_
