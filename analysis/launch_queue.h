// SPDX-License-Identifier: Apache-2.0

// How far the host is ahead of a device: launch latency and queue depth.
//
// A launch is a host call that started work on a device: a kernel, a copy, a memset, or a whole
// graph with its nodes. The times of a call and its work give three measures:
//   latency      from the start of the call to the start of its first activity;
//   queued       from the end of the call to the same, at least 0: how long the work was ready.
//                nsys calls it queue time. A host that is ahead makes it long, which is good;
//   outstanding  the earlier launches on the device whose work had not ended when the call began.
//                0: the device had no work, and waited for the host.
// The clocks of calls and device are assumed to be aligned. If more than 1 of 20 launches starts on
// the device before its call began, the clocks are not aligned, and nothing is reported.
//
// Cost: one pass over the activities, and two sorts of 8 bytes per launch (none if the source is in
// order). Memory: 60 bytes per launch. Thread-safety: pure functions.

#ifndef XLATRACE_ANALYSIS_LAUNCH_QUEUE_H_
#define XLATRACE_ANALYSIS_LAUNCH_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "model/derived.h"
#include "model/host_event.h"
#include "model/run_tables.h"

namespace xlatrace::analysis {

// Returns the host call that started an activity (index); empty if the source has no such call.
using HostCallOf = std::function<std::optional<model::HostCall>(size_t activity)>;

// Time from the return of a call to the start of its work on an idle device.
inline constexpr int64_t kLaunchArrivesNs = 10'000;

// Upper limit of the time from launch to start on an idle device.
inline constexpr int64_t kMaxStartNs = 200'000;

// True if the call for the next activity returned so early that the host did not cause the gap.
// That is well before the gap, or in its first half if the rest exceeds the usual start time.
bool WasLaunchedInTime(const HostCallOf& call_of, const model::GapRow& gap);

// Are the clocks of calls and devices aligned? True if no calls are recorded.
bool ClocksFit(const model::RunTables& run, const HostCallOf& call_of);

// One row per device that has launches, over steady steps if there are any. `steady`: per activity.
// Adds a run stat to `stats` if the clocks are not aligned.
std::vector<model::LaunchQueueRow> MeasureLaunchQueues(const model::RunTables& run,
                                                       const HostCallOf& call_of,
                                                       const std::vector<bool>& steady,
                                                       std::vector<model::RunStat>& stats);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_LAUNCH_QUEUE_H_
