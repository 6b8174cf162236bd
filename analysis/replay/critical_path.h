// SPDX-License-Identifier: Apache-2.0

// The critical path of a step on a device: what it waited for, and that for, back to its start. Its
// parts follow each other without a hole, so they sum to the step, to the nanosecond.
//
// From the end of the step it goes back along the edge that bound each node. A node's own time is
// kernel, copy or collective; the lag before it is gap, or host where the cause is a host call; a
// host call is host. Over all devices a path leads on where a collective's last one arrived; on its
// own device the whole collective is on it, with its waiting.
//
// Slack of a node: how much later it could end and no step in the graph would get longer.
// Thread-safety: pure functions.

#ifndef XLATRACE_ANALYSIS_REPLAY_CRITICAL_PATH_H_
#define XLATRACE_ANALYSIS_REPLAY_CRITICAL_PATH_H_

#include <cstdint>
#include <vector>

#include "analysis/replay/graph.h"
#include "analysis/replay/replay.h"
#include "model/derived.h"

namespace xlatrace::analysis::replay {

struct PathPart {
  uint32_t node = 0;  // Of a gap: the one that it is before.
  int64_t start_ns = 0, end_ns = 0;
  model::PathKind kind = model::PathKind::kGap;
};

enum class PathOver : uint8_t { kAllDevices, kOwnDevice };

// In order of time. `times` are those that `setting` gives.
std::vector<PathPart> CriticalPath(const Graph& graph, const Times& times, const Span& span,
                                   const Setting& setting = {},
                                   PathOver over = PathOver::kAllDevices);

// Per node; INT64_MAX: nothing ever waits for it.
std::vector<int64_t> SlackOf(const Graph& graph, const Times& times, const Setting& setting = {});

}  // namespace xlatrace::analysis::replay

#endif  // XLATRACE_ANALYSIS_REPLAY_CRITICAL_PATH_H_
