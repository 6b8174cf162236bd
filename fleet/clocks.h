// SPDX-License-Identifier: Apache-2.0

// One clock for recordings that were made by several.
//
// All ranks of a synchronising collective leave it at the same moment but for some microseconds, so
// the ends of collectives that two clocks both saw say how far apart they are, and how fast they
// drift. For each pair of clocks that share collectives a line is fitted that single wild ends do
// not move (slopes between ends a third to two thirds of the recording apart, their median: Theil
// 1950, Siegel 1982; then the median of what is left). Clocks are joined along the pairs that are
// known best.
//
// Clocks that share no collective, directly or through others, cannot be compared: they come back
// in sets of their own, and nothing is said of the time between two sets.
//
// Thread-safety: pure.

#ifndef XLATRACE_FLEET_CLOCKS_H_
#define XLATRACE_FLEET_CLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace xlatrace::fleet {

// That `clock` saw the end of a collective. The numbers of collectives are the caller's; the same
// number is the same collective. Times of one clock, in ns; the caller may have moved them by
// recorded anchors, so that what is left to find is small.
struct CollectiveEnd {
  uint64_t collective = 0;
  uint32_t clock = 0;
  int64_t end_ns = 0;
};

// common = local + offset_ns + drift_ppb x (local - origin_ns) / 1e9. `error_ns` holds for all
// times between the first and the last end that were used; it adds up along the pairs to the first
// clock of the set, which has offset, drift and error 0.
struct ClockFit {
  size_t set = 0;  // Clocks of other sets cannot be compared with this one.
  int64_t offset_ns = 0;
  int64_t drift_ppb = 0;
  int64_t origin_ns = 0;
  int64_t error_ns = 0;
  size_t ends = 0;  // Common ends of the last pair. 0: the first clock of its set.
};

struct ClockFits {
  std::vector<ClockFit> clocks;
  size_t sets = 0;
};

// `clocks`: how many there are. Where several ranks of one clock end one collective, the last of
// them counts. Fewer than three common ends are no evidence.
ClockFits FitClocks(size_t clocks, std::vector<CollectiveEnd> ends);

int64_t ToCommon(const ClockFit& fit, int64_t local_ns);

}  // namespace xlatrace::fleet

#endif  // XLATRACE_FLEET_CLOCKS_H_
