// SPDX-License-Identifier: Apache-2.0

// Blocks and rows of `host.samples` (recording/host_samples.md), for its writer and its reader.

#ifndef XLATRACE_RECORDING_HOST_ROWS_H_
#define XLATRACE_RECORDING_HOST_ROWS_H_

#include <cstdint>

#include "recording/format.h"

namespace xlatrace::recording {

inline constexpr uint64_t kHostSamplesVersion = 1;
inline constexpr BlockType kHostSamplesBlock = static_cast<BlockType>(64);

// First number of each row.
enum class HostRow : uint8_t {
  kBegin = 1,
  kText = 2,
  kFrame = 3,
  kStack = 4,
  kThread = 5,
  kTick = 6,
  kSample = 7,
  kGone = 8,
  kSecond = 9,
  kUsage = 10,
  kCollection = 11,
  kPause = 12,
  kCost = 13,
};

}  // namespace xlatrace::recording

#endif  // XLATRACE_RECORDING_HOST_ROWS_H_
