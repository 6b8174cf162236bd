// SPDX-License-Identifier: Apache-2.0

// The critical path of a step on a device: the chain of causes from the end of the step back to its
// start. Its parts are contiguous, so they sum exactly to the step.
//
// From the end of the step, the path goes back along the binding edge of each node. A node's own
// time is kernel, copy or collective. The lag before it is gap, or host if the cause is a host
// call. A host call is host. Over all devices, a path continues on the device that arrived last at
// a collective. On the own device, the whole collective with its waiting is on the path.
//
// Slack of a node: the longest delay of its end that makes no step in the graph longer.
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
  uint32_t node = 0;  // For a gap: the next node.
  int64_t start_ns = 0, end_ns = 0;
  model::PathKind kind = model::PathKind::kGap;
};

enum class PathOver : uint8_t { kAllDevices, kOwnDevice };

// In order of time. `times` are those of a replay with `setting`.
std::vector<PathPart> CriticalPath(const Graph& graph, const Times& times, const Span& span,
                                   const Setting& setting = {},
                                   PathOver over = PathOver::kAllDevices);

// Slack per node; INT64_MAX: no node waits for it.
std::vector<int64_t> SlackOf(const Graph& graph, const Times& times, const Setting& setting = {});

}  // namespace xlatrace::analysis::replay

#endif  // XLATRACE_ANALYSIS_REPLAY_CRITICAL_PATH_H_
