// SPDX-License-Identifier: Apache-2.0

// Layer and layer group of an operation. The layer is the component path of its op_name
// (`decoder/layer_7/attention`). In the layer group, repeated siblings are folded
// (`decoder/layer_*/attention`).
//
// Thread-safety: immutable after construction.

#ifndef XLATRACE_ANALYSIS_LAYER_H_
#define XLATRACE_ANALYSIS_LAYER_H_

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/op_name.h"
#include "analysis/phase.h"
#include "model/words.h"

namespace xlatrace::analysis {

// Finds the layers of one module's names.
//
// JAX: the scopes of the name, without Flax's method scopes (`attn.setup`). TensorFlow: the tape
// names a gradient after the forward op and its scopes. So the layer is the longest prefix that is
// a scope of some forward op of the module. Scopes that an op opens for its own parts (`moments`,
// `Tensordot`) are not layers. Keras 3's additional
// `_1` is removed if the whole model has it.
class LayerFinder {
 public:
  LayerFinder(const ModuleStyle& style, const std::vector<OpName>& names);

  // Empty: none.
  std::string LayerOf(const OpName& name, std::string_view op_type, model::Phase phase) const;

 private:
  ModuleStyle style_;
  std::set<std::string, std::less<>> forward_scopes_;  // Joined with '/'.
};

// Folds numbered siblings. If a path has at least two children that differ only in their final
// number (`layer_0`, `layer_1`; `h.3`, `h.4`; `0`, `1`), they become `layer_*`, `h.*`, `*`.
// Children of folded paths count together. A single `block_1` is unchanged. A sibling without a
// number is included if the first number is 1 (`dense`, `dense_1`).
class LayerFolder {
 public:
  void Add(std::string_view layer);
  void Finish();  // After the last Add, before the first Fold.

  std::string Fold(std::string_view layer) const;

 private:
  struct Node {
    std::map<std::string, Node, std::less<>> children;
    std::set<std::string, std::less<>> folded;  // Stems of at least two children.
    // Children without a number that are the first of numbered siblings.
    std::set<std::string, std::less<>> unnumbered;
  };

  static void FoldChildren(Node& node);

  Node root_;
};

// The components that both paths begin with; empty: none.
std::string CommonLayer(std::string_view a, std::string_view b);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_LAYER_H_
