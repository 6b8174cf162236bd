// SPDX-License-Identifier: Apache-2.0

// The steps of each device as spans of the graph.
//
// Thread-safety: pure except for the given graph.

#ifndef XLATRACE_ANALYSIS_REPLAY_SPANS_H_
#define XLATRACE_ANALYSIS_REPLAY_SPANS_H_

#include "analysis/replay/graph.h"
#include "analysis/replay/pieces.h"
#include "analysis/replay/window.h"

namespace xlatrace::analysis::replay {

// Fills spans, whole_run and on_cpu. The nodes are the pieces, one each.
void FindSpans(const Input& input, const ReplayWindow& window, const Pieces& pieces, Graph& graph);

}  // namespace xlatrace::analysis::replay

#endif  // XLATRACE_ANALYSIS_REPLAY_SPANS_H_
