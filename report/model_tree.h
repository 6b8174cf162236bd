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
  std::string name;  // One component, or several where nothing branches: "decoder/layer_*".
  std::string path;  // From the root.
  int64_t ns = 0;    // With everything below it.
  PhaseTimes phases{};
  int64_t others = 0;               // Not 0: this node stands for so many small ones.
  std::vector<ModelNode> children;  // By time; sum to ns, "itself" being one of them.
};

struct ModelTreeLimits {
  size_t depth = 6;
  size_t children = 14;
  double least_share = 0.002;  // Share of the whole; smaller children become one "others" node.
};

// The root has no name; its children are the outermost components, "no layer known" and "no
// instruction", so it holds all device time.
ModelNode BuildModelTree(const RunView& view, const ModelTreeLimits& limits);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_MODEL_TREE_H_
