// SPDX-License-Identifier: Apache-2.0

// How far the host is ahead of a device: launch latency and queue depth.
//
// A launch is a host call that started work on a device (a kernel, a copy, a memset, a whole graph
// with all of its nodes). Of each launch, from the call's times and those of what it started:
//   latency      from the start of the call to the start of its first activity;
//   queued       from the end of the call to the same, at least 0: how long the work stood ready.
//                nsys calls it queue time; a host that is ahead makes it long, and that is well;
//   outstanding  the earlier launches on the device whose work had not ended when the call began.
//                0: the device had nothing to do, and waited for the host.
// The calls' clock and the device's are taken as aligned. Where more than one launch in twenty
// starts on the device before its call began they are not, and nothing is said.
//
// Cost: one pass over the activities, two sorts of 8 bytes per launch (none where the source is in
// order), 60 bytes per launch meanwhile. Thread-safety: pure functions.

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

// The host call that started an activity (index); nothing where the source does not tell.
using HostCallOf = std::function<std::optional<model::HostCall>(size_t activity)>;

// From the return of a call to the start of its work on a device that is free.
inline constexpr int64_t kLaunchArrivesNs = 10'000;

// No start of work that a free device could begin takes longer.
inline constexpr int64_t kLongestStartNs = 200'000;

// Did the call that started what follows a gap return so early that the gap is not the host's? Well
// before the gap; or in it, and more than half of the gap, longer than any start takes, came after.
bool WasLaunchedInTime(const HostCallOf& call_of, const model::GapRow& gap);

// Do the calls' clock and the devices' fit? True if no calls are known.
bool ClocksFit(const model::RunTables& run, const HostCallOf& call_of);

// One row per device that has launches, over steady steps where there are any. `steady`: per
// activity. Says in `stats` where the clocks do not fit.
std::vector<model::LaunchQueueRow> MeasureLaunchQueues(const model::RunTables& run,
                                                       const HostCallOf& call_of,
                                                       const std::vector<bool>& steady,
                                                       std::vector<model::RunStat>& stats);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_LAUNCH_QUEUE_H_
