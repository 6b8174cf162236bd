// SPDX-License-Identifier: Apache-2.0

// Which layer's parameter an optimizer operation updates, from dataflow.
//
// Optimizers run outside of any layer scope. But an update reads two tensors of one layer: the
// parameter, which the forward pass uses there, and the gradient, which the backward pass makes. An
// optimizer op gets a layer if all tensors that it depends on, directly or through other optimizer
// ops, agree on one. Scalars (step count, global norm) are ignored. Without a known parameter the
// gradient decides. Thread-safety: pure function.

#ifndef XLATRACE_ANALYSIS_OPTIMIZER_LAYER_H_
#define XLATRACE_ANALYSIS_OPTIMIZER_LAYER_H_

#include <cstdint>
#include <vector>

#include "analysis/module_graph.h"
#include "analysis/phase_dataflow.h"

namespace xlatrace::analysis {

// `layers`: per instruction, a layer number or 0 for none, as names gave them.
// Returns the same with optimizer ops (and entry parameters) filled in where dataflow shows one.
std::vector<uint32_t> FillOptimizerLayers(const ModuleGraph& graph,
                                          const std::vector<NodePhase>& phases,
                                          std::vector<uint32_t> layers);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_OPTIMIZER_LAYER_H_
