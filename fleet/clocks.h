// SPDX-License-Identifier: Apache-2.0

// One clock for recordings with different clocks.
//
// All ranks leave a synchronising collective at the same time, up to some microseconds. The ends of
// collectives that two clocks recorded therefore give their offset and drift. A line is fitted for
// each pair of clocks with common collectives; outliers do not change it. Its slope is the median
// of the slopes between ends that are a third to two thirds of the recording apart (Theil 1950,
// Siegel 1982). Its offset is the median of the residuals. Clocks are joined along the pairs with
// the smallest errors.
//
// Clocks without a common collective, direct or through others, cannot be compared. They are in
// separate sets, and times of two sets have no relation.
//
// Thread-safety: pure.

#ifndef XLATRACE_FLEET_CLOCKS_H_
#define XLATRACE_FLEET_CLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace xlatrace::fleet {

// Adds the end of a collective on `clock`. The caller numbers the collectives; equal numbers are
// the same collective. Times are those of one clock, in ns. The caller may have shifted them by
// recorded anchors, so that only a small correction remains.
struct CollectiveEnd {
  uint64_t collective = 0;
  uint32_t clock = 0;
  int64_t end_ns = 0;
};

// common = local + offset_ns + drift_ppb x (local - origin_ns) / 1e9. `error_ns` is valid for all
// times between the first and the last used end. It adds up along the pairs to the first clock of
// the set, which has offset, drift and error 0.
struct ClockFit {
  size_t set = 0;  // Clocks of other sets cannot be compared with this one.
  int64_t offset_ns = 0;
  int64_t drift_ppb = 0;
  int64_t origin_ns = 0;
  int64_t error_ns = 0;
  size_t ends = 0;  // Number of common ends of the last pair. 0: the first clock of its set.
};

struct ClockFits {
  std::vector<ClockFit> clocks;
  size_t sets = 0;
};

// `clocks`: number of clocks. If several ranks with the same clock end one collective, the last end
// counts. Fewer than three common ends are no evidence.
ClockFits FitClocks(size_t clocks, std::vector<CollectiveEnd> ends);

int64_t ToCommon(const ClockFit& fit, int64_t local_ns);

}  // namespace xlatrace::fleet

#endif  // XLATRACE_FLEET_CLOCKS_H_
