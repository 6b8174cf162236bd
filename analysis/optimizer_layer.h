// SPDX-License-Identifier: Apache-2.0

// Which layer's parameter an optimizer operation updates, from dataflow.
//
// Optimizers run outside of any layer scope. But an update reads the parameter, which the forward
// pass uses inside one layer, and the gradient, which the backward pass makes inside one layer. An
// optimizer op gets a layer when all tensors that it depends on directly or through other optimizer
// ops agree on one; scalars (step count, global norm) are ignored. Where no parameter is known the
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
