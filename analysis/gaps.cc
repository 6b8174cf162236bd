// SPDX-License-Identifier: Apache-2.0
#include "analysis/gaps.h"

#include <algorithm>

namespace xlatrace::analysis {

void GapFinder::Add(const Segment& segment) {
  if (last_activity_id_ != 0 && segment.start_ns > last_end_ns_) {
    const Interval idle{last_end_ns_, segment.start_ns};
    const int64_t length = idle.end_ns - idle.start_ns;
    if (!recorded_.Whole(process_id_, idle.start_ns, idle.end_ns)) {
      interrupted_ns_ += length;  // The recording is incomplete here.
    } else if (length < kMinGapNs) {
      ++small_gaps_;
      small_gaps_ns_ += length;
    } else {
      model::GapRow row;
      row.device_id = device_id_;
      row.start_ns = idle.start_ns;
      row.end_ns = idle.end_ns;
      row.previous_activity_id = last_activity_id_;
      row.next_activity_id =
          *std::min_element(segment.owners.begin(), segment.owners.end()) + model::Id{1};
      if (2 * Overlap(compiles_, idle) > length) row.cause = model::GapCause::kCompile;
      rows_.push_back(row);
    }
  }
  // Each owner that ends with this segment may be the last before a gap.
  model::Id ended = 0;
  for (const uint32_t owner : segment.owners) {
    const model::Id id = owner + model::Id{1};
    if (run_.activities.end_ns(owner) <= segment.end_ns && (ended == 0 || id < ended)) ended = id;
  }
  if (ended != 0) last_activity_id_ = ended;
  last_end_ns_ = segment.end_ns;
}

}  // namespace xlatrace::analysis
