// SPDX-License-Identifier: Apache-2.0

// The layer that TensorFlow's recomputation repeats.
//
// tf.recompute_grad runs a function again under a fresh name scope (`blk_3/matmul` for what was
// `layer_0/blk/matmul`), and the gradients are named after that. Both passes read the same
// variables: the layer of a recomputation is the forward layer that uses its parameters.
// Thread-safety: pure function.

#ifndef XLATRACE_ANALYSIS_RECOMPUTE_LAYER_H_
#define XLATRACE_ANALYSIS_RECOMPUTE_LAYER_H_

#include <cstdint>
#include <vector>

#include "analysis/module_graph.h"
#include "analysis/phase_dataflow.h"

namespace xlatrace::analysis {

// `layers`: per instruction, a layer number or 0 for none, as names gave them. Layers of
// recomputation that no forward work has are replaced, for the recomputation and its gradient.
std::vector<uint32_t> MapRecomputedLayers(const ModuleGraph& graph,
                                          const std::vector<NodePhase>& phases,
                                          std::vector<uint32_t> layers);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_RECOMPUTE_LAYER_H_
