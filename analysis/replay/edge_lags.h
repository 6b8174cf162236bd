// SPDX-License-Identifier: Apache-2.0

// How long after its causes a node of the graph began, once all edges are there.
//
// Thread-safety: pure but for the graph that is given.

#ifndef XLATRACE_ANALYSIS_REPLAY_EDGE_LAGS_H_
#define XLATRACE_ANALYSIS_REPLAY_EDGE_LAGS_H_

#include "analysis/replay/graph.h"

namespace xlatrace::analysis::replay {

// Which edge bound each node, what is usual, and what the others would have taken: the usual lag of
// their kind, at most what was there. Until now lags are what was recorded.
void SettleLags(Graph& graph);

// What overlaps a member of a group may begin before all have arrived: it goes by the member's
// start. Groups are known.
void FollowStartsOfMembers(Graph& graph);

}  // namespace xlatrace::analysis::replay

#endif  // XLATRACE_ANALYSIS_REPLAY_EDGE_LAGS_H_
