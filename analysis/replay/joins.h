// SPDX-License-Identifier: Apache-2.0

// Where streams were joined, as far as order tells: events are not recorded, and not all HLO is.
//
// A launch whose operands are not known waits for what was last given to another stream before it,
// in the same execution, if it never began while that ran, anywhere in the graph (launches and work
// of the same op and kernel are taken together); of several such launches the first. And the first
// launch of an execution waits for all that the one before it gave its device, likewise.
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

// By node. `known`: of an activity, are its operands known?
std::vector<Join> FindJoins(const Input& input, const Pieces& pieces,
                            const std::function<bool(uint32_t activity)>& known);

}  // namespace xlatrace::analysis::replay

#endif  // XLATRACE_ANALYSIS_REPLAY_JOINS_H_
