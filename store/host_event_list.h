// SPDX-License-Identifier: Apache-2.0

// The host calls and ranges of a run that are long enough to explain a gap. They are kept in memory
// while the run is written, because their rows are packed at once and the analysis needs them
// before the end.
//
// At most a few hundred thousand are kept (40 bytes each). Above this number, the shortest are
// dropped, because a gap is explained by the event that covers most of it.
// Thread-safety: one thread.

#ifndef XLATRACE_STORE_HOST_EVENT_LIST_H_
#define XLATRACE_STORE_HOST_EVENT_LIST_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "model/events.h"

namespace xlatrace::store {

class HostEventList {
 public:
  struct Event {
    model::Id process_id = 0;
    int64_t thread_id = 0;
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    uint32_t name_id = 0;
    uint32_t range_id = 0;  // 0: an API call.
  };

  explicit HostEventList(size_t most = 250'000) : most_(most) {}

  void Add(const Event& event);
  // Events that overlap an interval (start, end; sorted, not overlapping), in the order of adding.
  std::vector<Event> Within(const std::vector<std::pair<int64_t, int64_t>>& intervals) const;
  // Shorter events were dropped.
  int64_t shortest_ns() const { return shortest_ns_; }

 private:
  size_t most_;
  int64_t shortest_ns_ = 1'000;
  std::vector<Event> events_;
};

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_HOST_EVENT_LIST_H_
