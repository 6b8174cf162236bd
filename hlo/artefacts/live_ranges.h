// SPDX-License-Identifier: Apache-2.0

// Reads the live ranges that XLA dumps: the schedule, the live range of each value, and the values
// at the peak. File: -live-range.txt since 2025, earlier the end of -buffer-assignment.txt.
//
// Thread-safety: pure. Source: HloLiveRange::ToString in xla/hlo/utils/hlo_live_range.cc.

#ifndef XLATRACE_HLO_ARTEFACTS_LIVE_RANGES_H_
#define XLATRACE_HLO_ARTEFACTS_LIVE_RANGES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace xlatrace::hlo {

struct LiveRange {
  std::string instruction;
  std::string shape_index;  // "{0}"; empty for the whole result.
  int64_t start = 0;        // Positions in the schedule, both inclusive.
  int64_t end = 0;
};

struct LiveAtPeak {
  std::string instruction;
  std::string shape_index;
  int64_t size_bytes = 0;
};

// A line of XLA's breakdown of the peak by op_name and Python stack.
struct PeakScope {
  std::string name;
  int32_t depth = 0;
  int64_t total_bytes = 0;
  int64_t own_bytes = 0;
};

struct LiveRanges {
  std::vector<std::string> schedule;  // Instructions in the order they run.
  std::vector<LiveRange> ranges;
  int64_t peak_position = -1;       // -1: not in the file.
  int64_t peak_bytes = -1;          // Sum of the values below; shared memory counts for each.
  std::vector<LiveAtPeak> at_peak;  // Largest first.
  std::vector<PeakScope> peak_scopes;
};

// Errors name the line. A text without "HloLiveRange" is an error.
Result<LiveRanges> ReadLiveRanges(std::string_view text);

// Does `text` (a buffer assignment of before 2025) have a section of live ranges?
bool HoldsLiveRanges(std::string_view text);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_ARTEFACTS_LIVE_RANGES_H_
