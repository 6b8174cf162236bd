// SPDX-License-Identifier: Apache-2.0
#include "analysis/busy.h"

namespace xlatrace::analysis {

void BusyTime::Add(const Segment& segment) {
  bool compute = false;
  bool collective = false;
  bool copy = false;
  for (const uint32_t owner : segment.owners) {
    switch (classes_[owner]) {
      case ActivityClass::kCompute:
        compute = true;
        break;
      case ActivityClass::kCollective:
        collective = true;
        break;
      case ActivityClass::kCopy:
        copy = true;
        break;
    }
  }
  const int64_t length = segment.end_ns - segment.start_ns;
  Append(busy_, {segment.start_ns, segment.end_ns});
  if (compute) compute_ns_ += length;
  if (collective) collective_ns_ += length;
  if (collective && !compute) exposed_collective_ns_ += length;
  if (copy) copy_ns_ += length;
  if (copy && !compute && !collective) exposed_copy_ns_ += length;
}

model::BusyTimeRow BusyTime::Row(model::Id device_id, int64_t device_time_ns,
                                 const Intervals& steady, int64_t interrupted_ns) const {
  model::BusyTimeRow row;
  row.device_id = device_id;
  if (!busy_.empty()) {
    row.start_ns = busy_.front().start_ns;
    row.end_ns = busy_.back().end_ns;
  }
  row.busy_ns = Length(busy_);
  row.idle_ns = row.end_ns - row.start_ns - row.busy_ns - interrupted_ns;
  row.overlap_ns = device_time_ns - row.busy_ns;
  row.compute_ns = compute_ns_;
  row.collective_ns = collective_ns_;
  row.exposed_collective_ns = exposed_collective_ns_;
  row.copy_ns = copy_ns_;
  row.exposed_copy_ns = exposed_copy_ns_;
  for (const Interval& interval : steady) row.steady_busy_ns += Overlap(busy_, interval);
  return row;
}

}  // namespace xlatrace::analysis
