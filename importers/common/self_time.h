// SPDX-License-Identifier: Apache-2.0

// Self time of activities on one line. Every instant belongs to the running activity that ends
// first; of equal ends, to the one that started last. An activity therefore owns the time outside
// of activities that are nested in it. An activity that starts before the end of the previous one
// owns the time after that end. The self times of a line sum to the union of its intervals.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_IMPORTERS_COMMON_SELF_TIME_H_
#define XLATRACE_IMPORTERS_COMMON_SELF_TIME_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "model/events.h"

namespace xlatrace::importers {

// Sorts by start (longer first, then in the given order) and fills self_ns; -1 means the whole
// duration.
void SortAndSetSelfTimes(std::vector<model::Activity>& activities);

// The same for activities that are given one by one, as a stream of a GPU runs them: in order of
// start, and not nested. Kernels of one stream overlap with programmatic dependent launch.
class StreamSelfTime {
 public:
  // Self time of the next activity of a lane; -1 means the whole duration. An activity out of order
  // keeps its duration.
  int64_t Next(model::Id lane_id, int64_t start_ns, int64_t end_ns);

 private:
  struct Last {
    int64_t start_ns = std::numeric_limits<int64_t>::min();
    int64_t end_ns = std::numeric_limits<int64_t>::min();
  };
  std::vector<Last> lanes_;  // By lane id.
};

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_COMMON_SELF_TIME_H_
