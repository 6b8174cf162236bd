// SPDX-License-Identifier: Apache-2.0
#include "analysis/layer.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/text.h"

namespace xlatrace::analysis {
namespace {

using model::Phase;

std::string Join(const std::vector<std::string>& scopes, size_t count) {
  std::string path;
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) path += '/';
    path += scopes[i];
  }
  return path;
}

// Flax opens a scope `module.method` for every method but __call__: `attn/attn.kv_proj/key` is the
// component attn/key.
std::vector<std::string> WithoutMethods(const std::vector<std::string>& scopes) {
  std::vector<std::string> modules;
  for (const std::string& scope : scopes) {
    const size_t dot = scope.find('.');
    const bool method =
        dot != scope.npos && dot > 0 && dot + 1 < scope.size() &&
        scope.find('.', dot + 1) == scope.npos &&
        (std::isalpha(static_cast<unsigned char>(scope[dot + 1])) != 0 || scope[dot + 1] == '_');
    const std::string module = method ? scope.substr(0, dot) : scope;
    if (!modules.empty() && modules.back() == module) continue;
    modules.push_back(module);
  }
  return modules;
}

// Name scopes that TensorFlow and Keras ops open for their parts.
bool IsOpScope(std::string_view component) {
  static constexpr std::array<std::string_view, 36> kScopes = {
      "moments",
      "batchnorm",
      "einsum",
      "Einsum",
      "convolution",
      "embedding_lookup",
      "stateless_dropout",
      "stateless_random_uniform",
      "random_uniform",
      "dropout",
      "weighted_loss",
      "Tensordot",
      "AssignMovingAvg",
      "MatMul",
      "matmul",
      "BiasAdd",
      "Gelu",
      "Relu",
      "Softmax",
      "LogSoftmax",
      "Sigmoid",
      "Tanh",
      "Conv2D",
      "FusedBatchNormV3",
      "TensorArrayUnstack",
      "TensorArrayV2Stack",
      "Regularizer",
      "cond",
      "SparseSoftmaxCrossEntropyWithLogits",
      "softmax_cross_entropy_with_logits",
      "BatchMatMulV2",
      "normalize_fn",
      "strided_slice",
      "PartitionedCall",
      "StatefulPartitionedCall",
      "clip_by_norm"};
  return std::find(kScopes.begin(), kScopes.end(), WithoutNumber(component)) != kScopes.end();
}

// Keras gives the layer Dropout the name of TensorFlow's op. In Keras 3 the op has another name. In
// Keras 2, a `dropout` directly below the model is a layer.
bool IsDropoutLayer(const std::vector<std::string>& scopes, size_t at, const ModuleStyle& style) {
  return WithoutNumber(scopes[at]) == "dropout" && (style.keras_numbered || at == 1);
}

// The op whose gradient a tape path names when the module shows no forward scope to compare with.
bool IsLowerCaseOp(std::string_view component) {
  static constexpr std::array<std::string_view, 10> kOps = {"add", "sub",  "mul", "truediv", "pow",
                                                            "neg", "mean", "sum", "Mean",    "Sum"};
  return std::find(kOps.begin(), kOps.end(), WithoutNumber(component)) != kOps.end();
}

// `layer_7` -> {"layer_", "7"}; nullopt without a number at the end.
std::optional<std::string> StemOf(std::string_view component) {
  size_t end = component.size();
  while (end > 0 && IsDigit(component[end - 1])) --end;
  if (end == component.size()) return std::nullopt;
  return std::string(component.substr(0, end));
}

std::vector<std::string_view> Components(std::string_view layer) {
  std::vector<std::string_view> components;
  size_t begin = 0;
  while (!layer.empty()) {
    const size_t end = std::min(layer.find('/', begin), layer.size());
    components.push_back(layer.substr(begin, end - begin));
    if (end == layer.size()) break;
    begin = end + 1;
  }
  return components;
}

}  // namespace

LayerFinder::LayerFinder(const ModuleStyle& style, const std::vector<OpName>& names)
    : style_(style) {
  if (style_.framework == Framework::kJax) return;
  for (const OpName& name : names) {
    if (name.gradient || name.grad_component || name.scopes.empty()) continue;
    for (size_t count = 1; count <= name.scopes.size(); ++count) {
      forward_scopes_.insert(Join(name.scopes, count));
    }
  }
}

std::string LayerFinder::LayerOf(const OpName& name, std::string_view op_type, Phase phase) const {
  if (name.scopes.empty() || name.combined) return {};
  if (style_.framework == Framework::kJax) {
    const std::vector<std::string> modules = WithoutMethods(name.scopes);
    return Join(modules, modules.size());
  }
  size_t count = name.scopes.size();
  if (name.gradient || name.grad_component) {
    while (count > 0 && !forward_scopes_.contains(Join(name.scopes, count))) --count;
    if (count == 0) {
      count = name.scopes.size();
      while (count > 0 && IsLowerCaseOp(name.scopes[count - 1])) --count;
    }
  }
  while (count > 0 && (IsOpScope(name.scopes[count - 1]) ||
                       (!op_type.empty() && name.scopes[count - 1] == op_type))) {
    if (IsDropoutLayer(name.scopes, count - 1, style_)) break;
    --count;
  }
  if (!style_.keras_numbered || phase == Phase::kOptimizer) return Join(name.scopes, count);
  std::vector<std::string> stripped;
  for (size_t i = 0; i < count; ++i) stripped.emplace_back(WithoutNumber(name.scopes[i]));
  return Join(stripped, count);
}

void LayerFolder::Add(std::string_view layer) {
  Node* node = &root_;
  for (const std::string_view component : Components(layer)) {
    const auto at = node->children.find(component);
    node = at != node->children.end() ? &at->second : &node->children[std::string(component)];
  }
}

void LayerFolder::Finish() { FoldChildren(root_); }

void LayerFolder::FoldChildren(Node& node) {
  std::map<std::string, std::vector<std::string>> siblings;
  for (const auto& [component, child] : node.children) {
    if (const auto stem = StemOf(component)) siblings[*stem].push_back(component);
  }
  // Keras and Haiku leave the first of several unnumbered: `dense`, `dense_1`.
  for (auto& [stem, components] : siblings) {
    if (stem.size() < 2 || stem.back() != '_') continue;
    const std::string first = stem.substr(0, stem.size() - 1);
    if (!node.children.contains(first) || !node.children.contains(stem + "1")) continue;
    components.push_back(first);
    node.unnumbered.insert(first);
  }
  for (const auto& [stem, components] : siblings) {
    if (components.size() < 2) continue;
    node.folded.insert(stem);
    // One node for all of them, so that their children are siblings of each other.
    Node merged;
    std::vector<std::pair<Node*, Node>> open;
    for (const std::string& component : components) {
      open.emplace_back(&merged, std::move(node.children[component]));
      node.children.erase(component);
    }
    while (!open.empty()) {
      auto [into, from] = std::move(open.back());
      open.pop_back();
      for (auto& [name, child] : from.children) {
        open.emplace_back(&into->children[name], std::move(child));
      }
    }
    node.children[stem + "*"] = std::move(merged);
  }
  for (auto& [component, child] : node.children) FoldChildren(child);
}

std::string LayerFolder::Fold(std::string_view layer) const {
  std::string folded;
  const Node* node = &root_;
  for (const std::string_view component : Components(layer)) {
    std::string name(component);
    if (node != nullptr) {
      const auto stem = StemOf(component);
      if (stem && node->folded.contains(*stem)) name = *stem + "*";
      if (node->unnumbered.contains(component)) name += "_*";
      const auto at = node->children.find(name);
      node = at == node->children.end() ? nullptr : &at->second;
    }
    if (!folded.empty()) folded += '/';
    folded += name;
  }
  return folded;
}

std::string CommonLayer(std::string_view a, std::string_view b) {
  size_t common = 0;
  for (size_t i = 0; i <= std::min(a.size(), b.size()); ++i) {
    const bool ends = (i == a.size() || a[i] == '/') && (i == b.size() || b[i] == '/');
    if (ends) common = i;
    if (i == a.size() || i == b.size() || a[i] != b[i]) break;
  }
  return std::string(a.substr(0, common));
}

}  // namespace xlatrace::analysis
