// SPDX-License-Identifier: Apache-2.0

// Matches the operations of two programs.
//
// Arguments and results are matched first, by their names or their order (sequence_align.h). Equal
// operations, such as the projections of query and key, are therefore distinguished by their
// inputs.
//
// The method then follows XLA's hlo_diff (xla/hlo/tools/hlo_diff). It matches nodes with equal past
// and future, then with equal past (tallest first), equal future, and equal neighbours. Each match
// must be unambiguous on both sides. From every pair, operands and users are paired if they are
// unambiguous, too. This is repeated with fewer requirements: without the marks of differentiation,
// without the shape, without the name. The remaining nodes are paired by score, and library calls
// with the op whose name they have. Nodes that read different arguments are never paired.
//
// A node has at most one partner. Equal candidates are paired in program order.
//
// Thread-safety: pure. About linear in the size of the graphs.

#ifndef XLATRACE_COMPARE_OPERATION_MATCH_H_
#define XLATRACE_COMPARE_OPERATION_MATCH_H_

#include <cstdint>
#include <vector>

#include "compare/flat_graph.h"

namespace xlatrace::compare {

struct NodeMatch {
  // Per node of one side: its partner on the other side, or kNoIndex.
  std::vector<uint32_t> to_new;
  std::vector<uint32_t> to_base;
};

NodeMatch MatchNodes(const FlatGraph& base, const FlatGraph& now);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_OPERATION_MATCH_H_
