// SPDX-License-Identifier: Apache-2.0
#include "store/host_event_list.h"

#include <algorithm>

namespace xlatrace::store {

void HostEventList::Add(const Event& event) {
  if (event.end_ns - event.start_ns < shortest_ns_) return;
  events_.push_back(event);
  while (events_.size() > most_) {
    shortest_ns_ *= 2;
    std::erase_if(events_,
                  [this](const Event& kept) { return kept.end_ns - kept.start_ns < shortest_ns_; });
  }
}

std::vector<HostEventList::Event> HostEventList::Within(
    const std::vector<std::pair<int64_t, int64_t>>& intervals) const {
  std::vector<Event> found;
  for (const Event& event : events_) {
    // The first interval that ends after the event starts.
    const auto at = std::lower_bound(
        intervals.begin(), intervals.end(), event.start_ns,
        [](const auto& interval, int64_t time) { return interval.second <= time; });
    if (at != intervals.end() && at->first < event.end_ns) found.push_back(event);
  }
  return found;
}

}  // namespace xlatrace::store
