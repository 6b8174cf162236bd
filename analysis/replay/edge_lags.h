// SPDX-License-Identifier: Apache-2.0

// The lag of each edge: the time from the cause to the start of a node, once all edges are known.
//
// Thread-safety: pure except for the given graph.

#ifndef XLATRACE_ANALYSIS_REPLAY_EDGE_LAGS_H_
#define XLATRACE_ANALYSIS_REPLAY_EDGE_LAGS_H_

#include "analysis/replay/graph.h"

namespace xlatrace::analysis::replay {

// Decides which edge was binding for each node, and the usual lag per kind of edge. Replaces the
// recorded lags of all other edges: they get the usual lag of their kind, at most the recorded one.
void SettleLags(Graph& graph);

// Work that overlaps a member of a group may begin before all members have arrived. Its edge then
// leaves the start of the member. Call this after groups are known.
void FollowStartsOfMembers(Graph& graph);

}  // namespace xlatrace::analysis::replay

#endif  // XLATRACE_ANALYSIS_REPLAY_EDGE_LAGS_H_
