// SPDX-License-Identifier: Apache-2.0
#include "report/compare/activity_sums.h"

#include <algorithm>
#include <map>
#include <utility>

#include "store/activity_scan.h"

namespace xlatrace::report {

using store::RunDb;
using store::Table;

void ActivitySums::Recurrence::Add(int64_t start_ns) {
  first_ns = std::min(first_ns, start_ns);
  last_ns = std::max(last_ns, start_ns);
  ++count;
}

Result<ActivitySums> SumActivities(RunDb& db, bool only_steady, LabelShares& shares) {
  ActivitySums sums;
  std::map<std::pair<int64_t, int64_t>, bool> steady;
  if (only_steady) {
    XLATRACE_ASSIGN(const Table steps, db.Select("SELECT device_id, step FROM step WHERE typical"));
    for (size_t i = 0; i < steps.rows.size(); ++i) {
      steady[{steps.Int(i, "device_id"), steps.Int(i, "step")}] = true;
    }
  }
  std::unordered_map<int64_t, int64_t> device_of_lane;
  XLATRACE_ASSIGN(const Table lanes, store::ScanLanes(db));
  for (size_t i = 0; i < lanes.rows.size(); ++i) {
    device_of_lane.emplace(lanes.Int(i, "lane_id"), lanes.Int(i, "device_id"));
  }
  std::pair<int64_t, int64_t> last{INT64_MIN, INT64_MIN};
  bool last_is_steady = false;
  int64_t last_lane = INT64_MIN;
  int64_t device = 0;
  XLATRACE_TRY(store::ScanActivities(db, [&](const store::ScannedActivity& activity) {
    ++sums.activities;
    // Baselines store this value (report/compare/load_run.cc), so it must not change.
    sums.checksum += static_cast<uint64_t>(activity.duration_ns) * 0x9e3779b97f4a7c15u ^
                     static_cast<uint64_t>(activity.start_ns);
    ++sums.calls_of_run[activity.label_id];
    if (activity.lane_id != last_lane) {
      last_lane = activity.lane_id;
      device = device_of_lane[last_lane];
    }
    if (only_steady) {
      if (!activity.step) return true;
      const std::pair<int64_t, int64_t> key{device, *activity.step};
      if (key != last) {
        last = key;
        last_is_steady = steady.contains(key);
      }
      if (!last_is_steady) return true;
    }
    const uint64_t sum_key =
        static_cast<uint64_t>(activity.label_id) << 32 | static_cast<uint64_t>(activity.config_id);
    ActivitySums::Sum& sum = sums.by_label_and_config[sum_key];
    sum.ns += activity.self_ns;
    ++sum.calls;
    if (!only_steady) {
      sums.recurrences[sum_key][device].Add(activity.start_ns);
    }
    if (!shares.empty() && !shares.OwnersOf(activity.label_id).empty()) {
      const auto parts = shares.Split(activity.label_id, activity.self_ns);
      std::vector<int64_t>& of = sums.shares_ns[sum_key];
      of.resize(parts.size());
      for (size_t k = 0; k < parts.size(); ++k) of[k] += parts[k];
    }
    if (activity.execution_id > 0) {
      const auto execution = static_cast<size_t>(activity.execution_id);
      if (execution >= sums.execution_ns.size()) sums.execution_ns.resize(execution + 1);
      sums.execution_ns[execution] += activity.self_ns;
    }
    return true;
  }));
  return sums;
}

}  // namespace xlatrace::report
