// SPDX-License-Identifier: Apache-2.0

// Which operation of one program is which of another.
//
// Arguments and results first, by their names or their order (sequence_align.h), so that twins such
// as the projections of query and key are told apart by what they read.
//
// Then in the manner of XLA's hlo_diff (xla/hlo/tools/hlo_diff): what has the same past and the
// same future first, then what has the same past, tallest first, then the same future, then the
// same neighbours, each only where both sides leave no choice. From every pair on, its operands and
// users are paired where they leave no choice either. The same is then repeated with less that has
// to agree: without the marks of differentiation, without the shape, without the name. What is left
// is paired by score, and library calls with the op whose name they bear. What reads arguments that
// are known to be different ones is never paired.
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
  // Per node of the one side its partner on the other, or kNoIndex.
  std::vector<uint32_t> to_new;
  std::vector<uint32_t> to_base;
};

NodeMatch MatchNodes(const FlatGraph& base, const FlatGraph& now);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_OPERATION_MATCH_H_
