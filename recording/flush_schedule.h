// SPDX-License-Identifier: Apache-2.0

// How often the collector flushes CUPTI's buffers and reads the clocks. The importer derives from
// it how long a killed process lived at most after the last clock of its file.

#ifndef XLATRACE_RECORDING_FLUSH_SCHEDULE_H_
#define XLATRACE_RECORDING_FLUSH_SCHEDULE_H_

#include <algorithm>
#include <cstdint>

namespace xlatrace::recording {

// A kill loses the work since the last flush, and the work of that flush until it is written. With
// two flushes per period, half of the period is left for writing.
inline uint64_t MaxFlushIntervalMs(uint64_t period_ms) {
  return std::max<uint64_t>(period_ms / 2, 1);
}

// A young program is flushed more often, so that a short run loses only a part of itself.
inline uint64_t FlushIntervalMs(uint64_t period_ms, uint64_t age_ns) {
  constexpr uint64_t kAgePerFlushRatio = 16;
  constexpr uint64_t kMinFlushMs = 20;
  const uint64_t part_ms = age_ns / 1000000 / kAgePerFlushRatio;
  return std::min(MaxFlushIntervalMs(period_ms), std::max(part_ms, kMinFlushMs));
}

}  // namespace xlatrace::recording

#endif  // XLATRACE_RECORDING_FLUSH_SCHEDULE_H_
