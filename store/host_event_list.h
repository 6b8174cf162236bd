// SPDX-License-Identifier: Apache-2.0

// The host calls and ranges of a run that are long enough to explain a gap, kept while it is
// written: their rows are packed away at once, and the analysis asks for them before the end.
//
// At most a few hundred thousand are kept (40 bytes each). When there are more, the shortest go: a
// gap is explained by what covers most of it, so the long ones matter.
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
  // Those that overlap any of the intervals (start, end; sorted, apart), in the order added.
  std::vector<Event> Within(const std::vector<std::pair<int64_t, int64_t>>& intervals) const;
  // Shorter ones than this were left out.
  int64_t shortest_ns() const { return shortest_ns_; }

 private:
  size_t most_;
  int64_t shortest_ns_ = 1'000;
  std::vector<Event> events_;
};

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_HOST_EVENT_LIST_H_
