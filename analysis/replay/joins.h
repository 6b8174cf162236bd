// SPDX-License-Identifier: Apache-2.0

// Joins of streams, derived from order: events are not recorded, and some HLO is missing.
//
// Take a launch whose operands are unknown, and the work given to another stream just before it in
// the same execution. If the launch never began while such work ran, anywhere in the graph, it is
// assumed to wait for this work. (Launches of the same op and kernel are examined together.) Of
// several such launches only the first waits. Likewise, the first launch of an execution waits for
// all work of the execution before it on its device.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_ANALYSIS_REPLAY_JOINS_H_
#define XLATRACE_ANALYSIS_REPLAY_JOINS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/replay/graph.h"
#include "analysis/replay/pieces.h"

namespace xlatrace::analysis::replay {

struct Join {
  uint32_t node = 0;  // Positions in Pieces::pieces.
  uint32_t from = 0;
};

// By node. `known`: are the operands of this activity known?
std::vector<Join> FindJoins(const Input& input, const Pieces& pieces,
                            const std::function<bool(uint32_t activity)>& known);

}  // namespace xlatrace::analysis::replay

#endif  // XLATRACE_ANALYSIS_REPLAY_JOINS_H_
