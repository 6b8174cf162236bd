// SPDX-License-Identifier: Apache-2.0

// Host calls that may launch further activities: one call can start a whole CUDA graph, whose rows
// come one by one.
//
// Thread-safety: one thread.

#ifndef XLATRACE_EXPORT_OPEN_CALLS_H_
#define XLATRACE_EXPORT_OPEN_CALLS_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "store/launch_scan.h"

namespace xlatrace::exporter {

struct HostCall {
  int64_t api_call_id = 0;
  int64_t call_kind = 0;  // 0: not known yet.
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  std::vector<uint64_t> activities;  // Activities launched by the call.
};

class OpenCalls {
 public:
  // `out` receives a call if the last 65,536 launches did not refer to it.
  explicit OpenCalls(std::function<Status(const HostCall&)> out) : out_(std::move(out)) {}

  // Adds a call without a launch. Must precede all launches.
  void AddOther(const store::ScannedOtherCall& call) {
    Open& open = Find(call.api_call_id);
    Fill(open.call, call.call_kind, call.start_ns, call.end_ns);
    open.last_named = INT64_MAX;  // A launch at any later time may refer to it.
  }

  Status Add(const store::ScannedLaunch& launch) {
    ++count_;
    if (launch.api_call_id == 0) return {};
    Open& open = Find(launch.api_call_id);
    if (launch.call_kind != 0) {
      Fill(open.call, launch.call_kind, launch.call_start_ns, launch.call_end_ns);
    }
    open.call.activities.push_back(static_cast<uint64_t>(launch.activity_id));
    if (open.last_named != INT64_MAX) open.last_named = count_;
    return GiveOld(count_ - kMaxKeptLaunches);
  }

  Status Finish() { return GiveOld(INT64_MAX); }

 private:
  static constexpr int64_t kMaxKeptLaunches = 65'536;
  struct Open {
    HostCall call;
    int64_t last_named = 0;
  };

  static void Fill(HostCall& call, int64_t kind, int64_t start_ns, int64_t end_ns) {
    call.call_kind = kind;
    call.start_ns = start_ns;
    call.duration_ns = end_ns - start_ns;
  }

  Open& Find(int64_t api_call_id) {
    const auto [at, is_new] = open_.try_emplace(api_call_id);
    if (is_new) {
      at->second.call.api_call_id = api_call_id;
      at->second.last_named = count_;
      order_.push_back(api_call_id);
    }
    return at->second;
  }

  // Examines the oldest calls. Calls with recent references are moved behind the others.
  Status GiveOld(int64_t before) {
    const bool all = before == INT64_MAX;
    for (int looked = 0; !order_.empty() && (all || looked < 2); ++looked) {
      const int64_t id = order_.front();
      order_.pop_front();
      const auto at = open_.find(id);
      if (!all && at->second.last_named > before) {
        order_.push_back(id);
        continue;
      }
      if (at->second.call.call_kind != 0) XLATRACE_TRY(out_(at->second.call));
      open_.erase(at);
    }
    return {};
  }

  std::function<Status(const HostCall&)> out_;
  std::unordered_map<int64_t, Open> open_;
  std::deque<int64_t> order_;
  int64_t count_ = 0;
};

}  // namespace xlatrace::exporter

#endif  // XLATRACE_EXPORT_OPEN_CALLS_H_
