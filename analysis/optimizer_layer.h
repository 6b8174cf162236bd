// SPDX-License-Identifier: Apache-2.0

// Which layer's parameter an optimizer operation updates, from dataflow.
//
// Optimizers run outside of any layer scope. An update reads two tensors of one layer. The forward
// pass uses the parameter in this layer, and the backward pass computes the gradient there. An
// optimizer op gets a layer if all tensors that it depends on, directly or through other optimizer
// ops, belong to the same layer. Scalars (step count, global norm) are ignored. Without a known
// parameter the gradient decides. Thread-safety: pure function.

#ifndef XLATRACE_ANALYSIS_OPTIMIZER_LAYER_H_
#define XLATRACE_ANALYSIS_OPTIMIZER_LAYER_H_

#include <cstdint>
#include <vector>

#include "analysis/module_graph.h"
#include "analysis/phase_dataflow.h"

namespace xlatrace::analysis {

// `layers`: per instruction, a layer number from its name, or 0 for none. Returns these numbers,
// with numbers for optimizer ops (and entry parameters) whose layer follows from dataflow.
std::vector<uint32_t> FillOptimizerLayers(const ModuleGraph& graph,
                                          const std::vector<NodePhase>& phases,
                                          std::vector<uint32_t> layers);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_OPTIMIZER_LAYER_H_
