// SPDX-License-Identifier: Apache-2.0

// What the operations of two programs cannot say because there is nothing to compare: an op that
// the one compiler does in one unit, and the other in several that look like something else.
//
// `paired`: of all instructions of the graph's module, whether something goes with them.
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
  std::vector<uint32_t> loop;  // The loop, and what in it nothing goes with.
};

// Ops that one compiler makes into loops (scatter, triangular solve), which then bear their names:
// free loops of `loops`, each with the only free unit of `ops` of its name that gives one of the
// values that the loop gives.
std::vector<LoopForOp> LoopsForOps(const FlatGraph& loops, const std::vector<bool>& loops_paired,
                                   const FlatGraph& ops, const std::vector<bool>& ops_paired);

// First parts of what the other side does in one: the first half of a reduction, which bears no
// name, and what leads up to the op whose name a library call on the other side bears, in the same
// layer. Each free unit with one that reads it; all that read it are of one group. What is only
// inserted before an op bears a name of its own, and is none.
// `group_of`: the same number for units that go together; `call_layer`: OpIdentity::layer of a
// library call of the other side in a group, 0: it has none.
std::vector<std::pair<uint32_t, uint32_t>> FirstParts(
    const FlatGraph& graph, const std::vector<bool>& paired,
    const std::function<size_t(uint32_t unit)>& group_of,
    const std::function<uint64_t(size_t group)>& call_layer);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_ONE_FOR_SEVERAL_H_
