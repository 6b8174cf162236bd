// SPDX-License-Identifier: Apache-2.0
#include "importers/common/self_time.h"

#include <algorithm>
#include <limits>

namespace xlatrace::importers {

void SortAndSetSelfTimes(std::vector<model::Activity>& activities) {
  std::stable_sort(activities.begin(), activities.end(),
                   [](const model::Activity& a, const model::Activity& b) {
                     if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
                     return a.end_ns > b.end_ns;
                   });
  std::vector<size_t> open;  // Indices by end; the last one owns the time.
  int64_t now = std::numeric_limits<int64_t>::min();
  // Gives the time up to `until` to the owner, and closes activities that end on the way.
  const auto advance = [&](int64_t until) {
    while (!open.empty()) {
      model::Activity& top = activities[open.back()];
      const int64_t upto = std::min(until, top.end_ns);
      if (upto > now) {
        top.self_ns += upto - now;
        now = upto;
      }
      if (top.end_ns > until) break;
      open.pop_back();
    }
    now = std::max(now, until);
  };
  for (size_t i = 0; i < activities.size(); ++i) {
    advance(activities[i].start_ns);
    activities[i].self_ns = 0;
    const auto place = std::find_if(open.rbegin(), open.rend(), [&](size_t other) {
      return activities[other].end_ns >= activities[i].end_ns;
    });
    open.insert(place.base(), i);
  }
  advance(std::numeric_limits<int64_t>::max());
  for (model::Activity& activity : activities) {
    if (activity.self_ns == activity.end_ns - activity.start_ns) activity.self_ns = -1;
  }
}

int64_t StreamSelfTime::Next(model::Id lane_id, int64_t start_ns, int64_t end_ns) {
  const auto lane = static_cast<size_t>(lane_id);
  if (lane >= lanes_.size()) lanes_.resize(lane + 1);
  Last& last = lanes_[lane];
  const bool overlaps = start_ns >= last.start_ns && start_ns < last.end_ns && end_ns > last.end_ns;
  const int64_t self_ns = overlaps ? end_ns - last.end_ns : -1;
  if (start_ns >= last.start_ns) {
    last.start_ns = start_ns;
    last.end_ns = std::max(last.end_ns, end_ns);
  }
  return self_ns;
}

}  // namespace xlatrace::importers
