// SPDX-License-Identifier: Apache-2.0

// Calls and ranges of host threads, and the threads' names: the page's tables `host_events`,
// `host_windows` and `host_threads`.
//
// The page has calls and ranges of a few windows of time: the median and the slowest step of each
// process with a device. The window of a process without steps is the whole run. The page's app
// selects the same windows at first. Each window keeps the longest events.
//
// Order of calls: Open, Add for every launch (page_launches.cc scans all launches), AddOthers,
// Write. Most calls and ranges are outside of all windows and cost one comparison of times.
// Thread-safety: one thread.

#ifndef XLATRACE_REPORT_PAGE_HOST_THREADS_H_
#define XLATRACE_REPORT_PAGE_HOST_THREADS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "store/launch_scan.h"
#include "store/run_db.h"

namespace xlatrace::report {

struct PageContext;

class HostThreads {
 public:
  // Chooses the windows: the page's steps are known.
  Status Open(PageContext& page);

  void Add(const store::ScannedLaunch& launch) {
    if (launch.call_kind != 0) AddCall(launch.call_kind, launch.call_start_ns, launch.call_end_ns);
  }
  // Calls without a launch, ranges, and names.
  Status AddOthers(store::RunDb& db);

  void Write(PageContext& page);

 private:
  // A recurring event: calls of one function, or ranges of one text, on one thread.
  struct Kind {
    int64_t thread_id = 0;
    std::string text;
    size_t first_window = 0, end_window = 0;  // Windows of the thread's process.
  };
  using Kinds = std::unordered_map<int64_t, Kind>;  // For processes with a window.

  struct Event {
    int64_t start_ns = 0, end_ns = 0;
    bool is_call = false;
    int64_t kind_id = 0;
    const Kind* kind = nullptr;
  };

  struct Window {
    int64_t process_id = 0;
    std::optional<int64_t> step = {};
    int64_t start_ns = 0, end_ns = 0;
    int64_t events = 0;
    std::vector<Event> kept = {};
  };

  Status ChooseWindows(PageContext& page);
  void FindSpans();
  void AddKinds(const store::Table& table, std::string_view id, std::string_view name,
                Kinds& kinds) const;

  bool InSpan(int64_t start_ns, int64_t end_ns) const {
    const auto span = std::lower_bound(spans_.begin(), spans_.end(), start_ns,
                                       [](const auto& s, int64_t ns) { return s.second < ns; });
    return span != spans_.end() && span->first <= end_ns;
  }
  void AddCall(int64_t kind, int64_t start_ns, int64_t end_ns) {
    if (!InSpan(start_ns, end_ns)) return;
    Keep(call_kinds_, {.start_ns = start_ns, .end_ns = end_ns, .is_call = true}, kind);
  }
  void Keep(const Kinds& kinds, Event event, int64_t kind_id);
  void DropShortOnes(std::vector<Event>& events) const;
  void WriteThreads(PageContext& page) const;

  std::vector<Window> windows_;
  std::vector<std::pair<int64_t, int64_t>> spans_;  // Times in any window: apart, ascending.
  size_t most_of_window_ = 0;
  Kinds call_kinds_, range_kinds_;
  store::Table names_;  // Thread names of all processes.
};

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_PAGE_HOST_THREADS_H_
