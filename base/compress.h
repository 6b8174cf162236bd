// SPDX-License-Identifier: Apache-2.0

// Compression of bytes in memory: zstd for what run.db stores, gzip for what pages and exports
// hold, gz/xz/zstd/bzip2 for what users hand us.
//
// Every decompressor has a limit on the size and the ratio of what comes out, so that a bomb is an
// error and never an out-of-memory. Thread-safety: re-entrant.

#ifndef XLATRACE_BASE_COMPRESS_H_
#define XLATRACE_BASE_COMPRESS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace xlatrace {

inline constexpr uint64_t kMaxInflatedBytes = uint64_t{8} << 30;
// Real files inflate 10 to 60 times; a bomb a thousand times and more. Small ones may be what they
// are.
inline constexpr uint64_t kMaxInflateRatio = 400;
inline constexpr uint64_t kInflateRatioFreeBytes = uint64_t{64} << 20;

std::string ZstdCompress(std::string_view bytes, int level = 3);
Result<std::string> ZstdDecompress(std::string_view bytes, uint64_t max_bytes = kMaxInflatedBytes);

// One gzip member without time or name: the same bytes give the same result. Empty when it fails,
// which only a lack of memory makes it do.
std::string GzipCompress(std::string_view bytes, int level = 6);

// True when `head` (at least 6 bytes) starts like gzip, xz, zstd or bzip2.
bool LooksCompressed(std::string_view head);

// Inflates what is compressed with gz, xz, zstd or bzip2, and what is compressed once more inside a
// gz; returns the bytes unchanged when they are none of these. `name` is for error messages.
Result<std::string> Inflate(std::string bytes, const std::string& name,
                            uint64_t max_bytes = kMaxInflatedBytes);

// ReadFile, then Inflate.
Result<std::string> ReadFileInflated(const std::string& path,
                                     uint64_t max_bytes = kMaxInflatedBytes);

}  // namespace xlatrace

#endif  // XLATRACE_BASE_COMPRESS_H_
