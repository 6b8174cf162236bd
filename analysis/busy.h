// SPDX-License-Identifier: Apache-2.0

// Busy, idle and exposed time of a device: figures of unions of intervals (docs/schema.md,
// busy_time).

#ifndef XLATRACE_ANALYSIS_BUSY_H_
#define XLATRACE_ANALYSIS_BUSY_H_

#include <cstdint>
#include <vector>

#include "analysis/intervals.h"
#include "analysis/timeline.h"
#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::analysis {

// Collects the segments of one device.
//
// compute, collective and copy are the times at which at least one such activity owns a lane. A
// collective is exposed while no computation runs. A copy is exposed while neither a computation
// nor a collective runs. Therefore busy = compute + exposed collective + exposed copy.
class BusyTime {
 public:
  explicit BusyTime(const std::vector<ActivityClass>& classes) : classes_(classes) {}

  void Add(const Segment& segment);

  const Intervals& busy() const { return busy_; }

  // `device_time_ns`: sum of self_ns on the device. `steady`: its steady steps.
  // `interrupted_ns`: time without activity that contains a pause or a loss; not idle time.
  model::BusyTimeRow Row(model::Id device_id, int64_t device_time_ns, const Intervals& steady,
                         int64_t interrupted_ns) const;

 private:
  const std::vector<ActivityClass>& classes_;
  Intervals busy_;
  int64_t compute_ns_ = 0;
  int64_t collective_ns_ = 0;
  int64_t exposed_collective_ns_ = 0;
  int64_t copy_ns_ = 0;
  int64_t exposed_copy_ns_ = 0;
};

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_BUSY_H_
