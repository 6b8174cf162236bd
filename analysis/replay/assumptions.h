// SPDX-License-Identifier: Apache-2.0

// What the graph of a replay takes for granted, in sentences.
//
// Thread-safety: pure but for the graph that is given.

#ifndef XLATRACE_ANALYSIS_REPLAY_ASSUMPTIONS_H_
#define XLATRACE_ANALYSIS_REPLAY_ASSUMPTIONS_H_

#include <cstddef>
#include <cstdint>

#include "analysis/replay/graph.h"

namespace xlatrace::analysis::replay {

// How many edges of the graph are no recorded facts.
struct Found {
  size_t joins = 0;  // Of streams, by the order of launches.
  int64_t data_edges = 0, seen_edges = 0;
  int64_t waits = 0, inferred_waits = 0;  // Of the host: at calls, and where none says so.
  int64_t skewed = 0;                     // Launches that begin before their call.
};

// Fills `assumptions`. `steady`: the window's steps are.
void TellAssumptions(const Found& found, bool steady, Graph& graph);

}  // namespace xlatrace::analysis::replay

#endif  // XLATRACE_ANALYSIS_REPLAY_ASSUMPTIONS_H_
