// SPDX-License-Identifier: Apache-2.0

// Matches ops that one compiler runs in one unit and the other in several units. A comparison of
// operations cannot match them, because the units look different.
//
// `paired`: for all instructions of the graph's module, whether they have a partner.
//
// Thread-safety: pure functions. Linear.

#ifndef XLATRACE_COMPARE_ONE_FOR_SEVERAL_H_
#define XLATRACE_COMPARE_ONE_FOR_SEVERAL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "compare/flat_graph.h"

namespace xlatrace::compare {

struct LoopForOp {
  uint32_t op = 0;
  std::vector<uint32_t> loop;  // The loop, and the instructions in it without a partner.
};

// Finds ops that one compiler turns into loops with their name (scatter, triangular solve). Returns
// free loops of `loops`, each with the only free unit of `ops` that has its name and produces one
// of the loop's values.
std::vector<LoopForOp> LoopsForOps(const FlatGraph& loops, const std::vector<bool>& loops_paired,
                                   const FlatGraph& ops, const std::vector<bool>& ops_paired);

// Finds first parts of work that the other side does in one unit. One kind is the first half of a
// reduction, which has no name. The other kind is work before an op in the same layer, if a library
// call on the other side has the op's name. Returns each free unit with a unit that reads it; all
// its readers are in one group. An inserted operation before an op has its own name and is not a
// first part. `group_of`: equal numbers for units of one group. `call_layer`: OpIdentity::layer of
// a library call of the other side in a group, 0: none.
std::vector<std::pair<uint32_t, uint32_t>> FirstParts(
    const FlatGraph& graph, const std::vector<bool>& paired,
    const std::function<size_t(uint32_t unit)>& group_of,
    const std::function<uint64_t(size_t group)>& call_layer);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_ONE_FOR_SEVERAL_H_
