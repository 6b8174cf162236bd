// SPDX-License-Identifier: Apache-2.0

// Places intervals on as few lanes as possible without overlap. Timelines (Perfetto, Kineto) show
// overlapping slices of one track wrongly, without a warning.
//
// Thread-safety: one thread.

#ifndef XLATRACE_EXPORT_LANES_H_
#define XLATRACE_EXPORT_LANES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace xlatrace::exporter {

class Lanes {
 public:
  // Number of the lane, from 0. Intervals are given by start. A late interval that would touch
  // existing ones gets a new lane. `may_nest`: an interval inside another one shares its lane.
  size_t Place(int64_t start_ns, int64_t end_ns, bool may_nest) {
    for (size_t i = 0;; ++i) {
      if (i == lanes_.size()) lanes_.emplace_back();
      Lane& lane = lanes_[i];
      if (start_ns < lane.free_from) continue;
      while (!lane.open_ends.empty() && lane.open_ends.back() <= start_ns) {
        lane.free_from = std::max(lane.free_from, lane.open_ends.back());
        lane.open_ends.pop_back();
      }
      const bool fits = lane.open_ends.empty() || (may_nest && lane.open_ends.back() >= end_ns);
      if (!fits) continue;
      lane.open_ends.push_back(end_ns);
      lane.free_from = std::max(lane.free_from, start_ns);
      return i;
    }
  }

 private:
  struct Lane {
    std::vector<int64_t> open_ends;  // Innermost last.
    int64_t free_from = std::numeric_limits<int64_t>::min();
  };
  std::vector<Lane> lanes_;
};

}  // namespace xlatrace::exporter

#endif  // XLATRACE_EXPORT_LANES_H_
