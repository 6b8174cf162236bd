// SPDX-License-Identifier: Apache-2.0

#include "report/answer/visible_nodes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace xlatrace::report {
namespace {

constexpr int64_t kMinPartsPerRun = 20'000;
constexpr int64_t kMinPartsPerStep = 20'000;

bool IsVisible(const TimeNode& node, const TimeNode& root, int64_t step_ns) {
  return node.ns * kMinPartsPerRun >= root.ns ||
         node.per_step_ns.value_or(0) * kMinPartsPerStep >= std::max<int64_t>(1, step_ns);
}

TimeNode CopyOf(const TimeNode& node, NodeTexts& texts) {
  TimeNode copy = node;
  copy.kind = texts.AddOnce(node.kind);
  copy.name = texts.Add(node.name);
  copy.phase = texts.AddOnce(node.phase);
  copy.layer_group = texts.AddOnce(node.layer_group);
  copy.op_kind = texts.AddOnce(node.op_kind);
  copy.source_file = texts.AddOnce(node.source_file);
  copy.handle = texts.Add(node.handle);
  copy.children.clear();
  return copy;
}

}  // namespace

TimeNodes VisibleNodes(const TimeNodes& tree) {
  TimeNodes visible;
  visible.of = tree.of;
  if (tree.nodes.empty()) return visible;
  int64_t step_ns = 0;
  for (const TimeNode& node : tree.nodes) {
    if (node.kind == "step") step_ns = node.per_step_ns.value_or(0);
  }
  constexpr size_t kHiddenPosition = std::numeric_limits<size_t>::max();
  std::vector<size_t> position_of(tree.nodes.size(), kHiddenPosition);
  std::vector<bool> is_visible(tree.nodes.size(), false);
  is_visible[0] = true;
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    if (!is_visible[i]) continue;
    position_of[i] = visible.nodes.size();
    visible.nodes.push_back(CopyOf(tree.nodes[i], *visible.texts));
    for (const size_t child : tree.nodes[i].children) {
      is_visible[child] = IsVisible(tree.nodes[child], tree.nodes[0], step_ns);
    }
  }
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    if (!is_visible[i]) continue;
    for (const size_t child : tree.nodes[i].children) {
      if (!is_visible[child]) continue;
      visible.nodes[position_of[i]].children.push_back(position_of[child]);
    }
  }
  return visible;
}

}  // namespace xlatrace::report
