// SPDX-License-Identifier: Apache-2.0

// The layer that TensorFlow's recomputation repeats.
//
// tf.recompute_grad runs a function again under a new name scope (`blk_3/matmul` instead of
// `layer_0/blk/matmul`), and gradients get their names from this scope. Both passes read the same
// variables. The layer of a recomputation is therefore the forward layer that uses its parameters.
// Thread-safety: pure function.

#ifndef XLATRACE_ANALYSIS_RECOMPUTE_LAYER_H_
#define XLATRACE_ANALYSIS_RECOMPUTE_LAYER_H_

#include <cstdint>
#include <vector>

#include "analysis/module_graph.h"
#include "analysis/phase_dataflow.h"

namespace xlatrace::analysis {

// `layers`: per instruction, a layer number from its name, or 0 for none. If a layer of
// recomputation has no forward work, the layer is replaced for the recomputation and its gradient.
std::vector<uint32_t> MapRecomputedLayers(const ModuleGraph& graph,
                                          const std::vector<NodePhase>& phases,
                                          std::vector<uint32_t> layers);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_RECOMPUTE_LAYER_H_
