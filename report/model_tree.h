// SPDX-License-Identifier: Apache-2.0

// Layers as a tree of components with their time by phase: decoder > layer_* > mlp > wo.
//
// Thread-safety: plain data.

#ifndef XLATRACE_REPORT_MODEL_TREE_H_
#define XLATRACE_REPORT_MODEL_TREE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "report/run_view.h"

namespace xlatrace::report {

struct ModelNode {
  std::string name;  // One component, or several joined ones if no branch is between them:
                     // "decoder/layer_*".
  std::string path;  // From the root.
  int64_t ns = 0;    // Time of the node and all nodes below it.
  PhaseTimes phases{};
  int64_t others = 0;  // If not 0, the node stands for this number of small nodes.
  // By descending time. The children, including a child "itself", sum to ns.
  std::vector<ModelNode> children;
};

struct ModelTreeLimits {
  size_t depth = 6;
  size_t children = 14;
  // Minimum share of the whole; children with less are joined in a node "others".
  double least_share = 0.002;
};

// The root has no name and all device time. Its children are the outermost components, "no layer
// known" and "no instruction".
ModelNode BuildModelTree(const RunView& view, const ModelTreeLimits& limits);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_MODEL_TREE_H_
