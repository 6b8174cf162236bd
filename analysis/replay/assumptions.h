// SPDX-License-Identifier: Apache-2.0

// The assumptions of a replay's graph, as sentences.
//
// Thread-safety: pure except for the given graph.

#ifndef XLATRACE_ANALYSIS_REPLAY_ASSUMPTIONS_H_
#define XLATRACE_ANALYSIS_REPLAY_ASSUMPTIONS_H_

#include <cstddef>
#include <cstdint>

#include "analysis/replay/graph.h"

namespace xlatrace::analysis::replay {

// Counts of edges that are not recorded facts.
struct Found {
  size_t joins = 0;  // Joins of streams, by the order of launches.
  int64_t data_edges = 0, seen_edges = 0;
  int64_t waits = 0, inferred_waits = 0;  // Waits of the host: recorded calls, inferred.
  int64_t skewed = 0;                     // Launches that begin before their call.
};

// Fills `assumptions`. `steady`: the steps of the window are steady.
void ListAssumptions(const Found& found, bool steady, Graph& graph);

}  // namespace xlatrace::analysis::replay

#endif  // XLATRACE_ANALYSIS_REPLAY_ASSUMPTIONS_H_
