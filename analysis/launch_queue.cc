// SPDX-License-Identifier: Apache-2.0
#include "analysis/launch_queue.h"

#include <algorithm>

#include "base/nearly_sorted.h"

namespace xlatrace::analysis {
namespace {

using model::Id;

struct Launch {
  int64_t call_ns = 0;   // Start.
  int64_t first_ns = 0;  // Start of its first activity.
  int64_t last_ns = 0;   // End of its last one.
  uint32_t duration_ns = 0;
  bool steady = false;
};

constexpr int64_t kLaunchesPerSkewedOne = 20;  // At most 1 launch of 20 may start before its call.

// By nearest rank; reorders.
int64_t Percentile(std::vector<int64_t>& values, size_t percent) {
  if (values.empty()) return 0;
  const size_t at = (values.size() - 1) * percent / 100;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

// Launches of each device, from activities with known times. Activities of one call rarely follow
// each other, so a call is searched by number.
std::vector<std::vector<Launch>> LaunchesOf(const model::RunTables& run, const HostCallOf& call_of,
                                            const std::vector<bool>& steady) {
  std::vector<std::vector<Launch>> launches(run.devices.size());
  // Growing by copies would take the lists' memory twice.
  std::vector<size_t> activities(run.devices.size());
  for (size_t i = 0; i < run.activities.size(); ++i) {
    ++activities[static_cast<size_t>(run.LaneOf(i).device_id) - 1];
  }
  for (size_t d = 0; d < launches.size(); ++d) launches[d].reserve(activities[d]);
  std::vector<uint32_t> launch_of;  // By call: position + 1 among those of the device.
  for (size_t i = 0; i < run.activities.size(); ++i) {
    const std::optional<model::HostCall> call = call_of(i);
    if (!call || call->call_id <= 0 || !run.activities.timed(i)) continue;
    std::vector<Launch>& of_device = launches[static_cast<size_t>(run.LaneOf(i).device_id) - 1];
    const auto id = static_cast<size_t>(call->call_id);
    if (id >= launch_of.size()) launch_of.resize(std::max(id + 1, 2 * launch_of.size()), 0);
    const int64_t start = run.activities.start_ns[i];
    const int64_t end = run.activities.end_ns(i);
    // A graph whose nodes run on several devices counts on each: the numbers then differ.
    if (const uint32_t at = launch_of[id];
        at != 0 && at <= of_device.size() && of_device[at - 1].call_ns == call->start_ns) {
      Launch& launch = of_device[at - 1];
      launch.first_ns = std::min(launch.first_ns, start);
      launch.last_ns = std::max(launch.last_ns, end);
      launch.steady = launch.steady || steady[i];
      continue;
    }
    of_device.push_back(
        {call->start_ns, start, end,
         static_cast<uint32_t>(std::clamp<int64_t>(call->end_ns - call->start_ns, 0, UINT32_MAX)),
         steady[i]});
    launch_of[id] = static_cast<uint32_t>(of_device.size());
  }
  return launches;
}

model::LaunchQueueRow Measure(const std::vector<Launch>& launches) {
  model::LaunchQueueRow row;
  row.steady =
      std::any_of(launches.begin(), launches.end(), [](const Launch& l) { return l.steady; });
  // One figure at a time: of ten million launches each list is 80 MB.
  std::vector<int64_t> values;
  values.reserve(launches.size());
  const auto collect = [&](const auto& figure) {
    values.clear();
    for (const Launch& launch : launches) {
      if (launch.steady || !row.steady) values.push_back(figure(launch));
    }
  };
  const auto latency = [](const Launch& launch) {
    return std::max<int64_t>(0, launch.first_ns - launch.call_ns);
  };
  collect([](const Launch& launch) { return int64_t{launch.duration_ns}; });
  row.calls = static_cast<int64_t>(values.size());
  row.call_p50_ns = Percentile(values, 50);
  collect(latency);
  row.latency_p50_ns = Percentile(values, 50);
  row.latency_p90_ns = Percentile(values, 90);
  collect([&](const Launch& launch) {
    return std::max<int64_t>(0, latency(launch) - launch.duration_ns);
  });
  row.queued_p50_ns = Percentile(values, 50);
  row.queued_p90_ns = Percentile(values, 90);
  std::vector<int64_t> calls, ends;
  calls.reserve(launches.size());
  ends.reserve(launches.size());
  for (const Launch& launch : launches) {
    calls.push_back(launch.call_ns);
    ends.push_back(launch.last_ns);
  }
  SortNearlySorted(calls);
  SortNearlySorted(ends);
  collect([&](const Launch& launch) {
    const auto called = std::lower_bound(calls.begin(), calls.end(), launch.call_ns);
    const auto ended = std::upper_bound(ends.begin(), ends.end(), launch.call_ns);
    return std::max<int64_t>(0, (called - calls.begin()) - (ended - ends.begin()));
  });
  for (const int64_t outstanding : values) {
    row.outstanding_max = std::max(row.outstanding_max, outstanding);
    row.calls_on_idle += outstanding == 0 ? 1 : 0;
  }
  row.outstanding_p50 = Percentile(values, 50);
  row.outstanding_p90 = Percentile(values, 90);
  return row;
}

}  // namespace

bool WasLaunchedInTime(const HostCallOf& call_of, const model::GapRow& gap) {
  if (!call_of || gap.next_activity_id <= 0) return false;
  const auto call = call_of(static_cast<size_t>(gap.next_activity_id) - 1);
  if (!call) return false;
  if (call->end_ns < gap.start_ns - kLaunchArrivesNs) return true;
  const int64_t after_ns = gap.end_ns - call->end_ns;
  return after_ns > kMaxStartNs && 2 * after_ns > gap.end_ns - gap.start_ns;
}

bool ClocksFit(const model::RunTables& run, const HostCallOf& call_of) {
  if (!call_of) return true;
  struct Count {
    int64_t launches = 0;
    int64_t skewed = 0;
    Id last_call_id = 0;
  };
  std::vector<Count> counts(run.devices.size());
  for (size_t i = 0; i < run.activities.size(); ++i) {
    const std::optional<model::HostCall> call = call_of(i);
    if (!call || call->call_id <= 0 || !run.activities.timed(i)) continue;
    Count& count = counts[static_cast<size_t>(run.LaneOf(i).device_id) - 1];
    if (count.last_call_id == call->call_id) continue;
    count.last_call_id = call->call_id;
    ++count.launches;
    count.skewed += run.activities.start_ns[i] < call->start_ns ? 1 : 0;
  }
  return std::all_of(counts.begin(), counts.end(), [](const Count& count) {
    return kLaunchesPerSkewedOne * count.skewed <= count.launches;
  });
}

std::vector<model::LaunchQueueRow> MeasureLaunchQueues(const model::RunTables& run,
                                                       const HostCallOf& call_of,
                                                       const std::vector<bool>& steady,
                                                       std::vector<model::RunStat>& stats) {
  std::vector<model::LaunchQueueRow> rows;
  if (!call_of) return rows;
  std::vector<std::vector<Launch>> launches = LaunchesOf(run, call_of, steady);
  int64_t skewed_launches = 0;
  for (size_t d = 0; d < launches.size(); ++d) {
    if (launches[d].empty()) continue;
    const auto skewed = std::count_if(launches[d].begin(), launches[d].end(),
                                      [](const Launch& l) { return l.first_ns < l.call_ns; });
    if (kLaunchesPerSkewedOne * skewed > static_cast<int64_t>(launches[d].size())) {
      skewed_launches += skewed;
      continue;
    }
    rows.push_back(Measure(launches[d]));
    rows.back().device_id = static_cast<Id>(d + 1);
    launches[d] = {};
  }
  if (skewed_launches > 0) {
    stats.push_back({"launch_before_call", model::Severity::kNotice, "analysis", skewed_launches,
                     "launches that start on the device before the call on the host: the "
                     "clocks of host and device do not match, so launch latency is not reported"});
  }
  return rows;
}

}  // namespace xlatrace::analysis
