// SPDX-License-Identifier: Apache-2.0

// Decides the phases that cannot be derived from names, by an operation's dependences and users.
// Each stage is a file of analysis/phases/.
//
// Rules per kind of module:
// - JAX 0.7 and later: an unmarked op in a module with gradients is optimizer, with three
//   exceptions. Used by a marked op (loop-invariant code that JAX hoisted): the phase of its user.
//   Dependent on forward work alone (metrics), or without connection to a gradient: other.
// - JAX until 0.6: an unmarked op may be anything. If it leads to marked work, its dependences
//   decide between forward, loss and backward. If it depends on backward work and leads to none, it
//   is optimizer, unless its source line also has forward work. Without both it is optimizer.
// - Unscoped differentiated ops after the last layer or matrix product are loss.
// - TensorFlow: scoped forward ops that depend on a gradient and feed one are recomputation
//   (tf.recompute_grad has no mark). Unscoped ones are loss, metrics, counters by the same means.
// - No gradient in the module: forward in the main module of an inference run, other in helpers.
// - No op_name: the phase of the nearest user, else of the nearest operand. Unmarked collectives
//   that carry a gradient serve it and get its phase.
//
// Thread-safety: pure function.

#ifndef XLATRACE_ANALYSIS_PHASE_DATAFLOW_H_
#define XLATRACE_ANALYSIS_PHASE_DATAFLOW_H_

#include <cstdint>
#include <vector>

#include "analysis/module_graph.h"
#include "analysis/op_name.h"
#include "analysis/phase.h"
#include "model/words.h"

namespace xlatrace::analysis {

// Facts about one instruction, without its surroundings.
struct NodeFacts {
  const OpName* name = nullptr;  // Never null.
  NameVerdict verdict;
  SourceHint source;
};

struct NodePhase {
  model::Phase phase = model::Phase::kUnknown;
  // The instruction whose name decided the phase. It differs from the instruction itself if the
  // phase was taken from a user, operand or caller. The layer comes from the same instruction.
  uint32_t origin = model::kNoIndex;
};

std::vector<NodePhase> DecidePhases(const ModuleGraph& graph, const std::vector<NodeFacts>& facts,
                                    const ModuleStyle& style, model::ModuleRole role);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_PHASE_DATAFLOW_H_
