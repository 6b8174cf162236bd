// SPDX-License-Identifier: Apache-2.0
#include "report/model_tree.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/number_format.h"

namespace xlatrace::report {
namespace {

struct Raw {
  PhaseTimes phases{};  // With everything below.
  int64_t ns = 0;
  int64_t own_ns = 0;  // The component without its parts.
  PhaseTimes own_phases{};
  std::map<std::string, std::unique_ptr<Raw>, std::less<>> children;

  void Add(const ScopeFigure& scope) {
    ns += scope.ns;
    for (size_t p = 0; p < kPhaseCount; ++p) phases[p] += scope.phases[p];
  }
};

void Insert(Raw& root, const ScopeFigure& scope, size_t depth) {
  Raw* node = &root;
  std::string_view rest = scope.name;
  for (size_t level = 0; level < depth && !rest.empty(); ++level) {
    const size_t slash = std::min(rest.find('/'), rest.size());
    const std::string_view component = rest.substr(0, slash);
    std::unique_ptr<Raw>& child = node->children[std::string(component)];
    if (child == nullptr) child = std::make_unique<Raw>();
    node = child.get();
    node->Add(scope);
    rest = slash == rest.size() ? std::string_view() : rest.substr(slash + 1);
  }
  node->own_ns += scope.ns;
  for (size_t p = 0; p < kPhaseCount; ++p) node->own_phases[p] += scope.phases[p];
}

class Builder {
 public:
  Builder(const ModelTreeLimits& limits, int64_t whole)
      : limits_(limits),
        least_ns_(static_cast<int64_t>(limits.least_share * static_cast<double>(whole))) {}

  ModelNode Build(const std::string& name, const std::string& path, const Raw& raw) const {
    // A component with a single child needs no row.
    if (!path.empty() && raw.own_ns == 0 && raw.children.size() == 1) {
      const auto& [child_name, child] = *raw.children.begin();
      return Build(name + "/" + child_name, path + "/" + child_name, *child);
    }
    ModelNode node{name, path, raw.ns, raw.phases, 0, {}};
    for (const auto& [child_name, child] : raw.children) {
      node.children.push_back(
          Build(child_name, path.empty() ? child_name : path + "/" + child_name, *child));
    }
    if (raw.own_ns > 0 && !raw.children.empty()) {
      node.children.push_back({"itself", path, raw.own_ns, raw.own_phases, 0, {}});
    }
    std::stable_sort(node.children.begin(), node.children.end(),
                     [](const ModelNode& a, const ModelNode& b) { return a.ns > b.ns; });
    Prune(node);
    return node;
  }

 private:
  void Prune(ModelNode& node) const {
    size_t keep = 0;
    while (keep < node.children.size() && keep < limits_.children &&
           node.children[keep].ns >= least_ns_) {
      ++keep;
    }
    if (node.children.size() - keep < 2) return;  // A single small child needs no summary.
    ModelNode others;
    others.others = static_cast<int64_t>(node.children.size() - keep);
    others.name = fmt::format("{} others", Thousands(others.others));
    others.path = node.path;
    for (size_t i = keep; i < node.children.size(); ++i) {
      others.ns += node.children[i].ns;
      for (size_t p = 0; p < kPhaseCount; ++p) others.phases[p] += node.children[i].phases[p];
    }
    node.children.resize(keep);
    node.children.push_back(std::move(others));
  }

  const ModelTreeLimits& limits_;
  int64_t least_ns_;
};

}  // namespace

ModelNode BuildModelTree(const RunView& view, const ModelTreeLimits& limits) {
  Raw root;
  ModelNode nameless;
  for (const ScopeFigure& scope : view.layers) {
    if (scope.name.empty()) {
      nameless = {"no layer known", "", scope.ns, scope.phases, 0, {}};
    } else {
      root.Add(scope);
      Insert(root, scope, limits.depth);
    }
  }
  ModelNode tree = Builder(limits, view.coverage.device_ns).Build("", "", root);
  if (nameless.ns > 0) {
    tree.ns += nameless.ns;
    for (size_t p = 0; p < kPhaseCount; ++p) tree.phases[p] += nameless.phases[p];
    tree.children.push_back(std::move(nameless));
  }
  if (view.coverage.none_ns > 0) {
    ModelNode none{"no instruction", "", view.coverage.none_ns, {}, 0, {}};
    none.phases = view.none_phases;
    tree.ns += none.ns;
    for (size_t p = 0; p < kPhaseCount; ++p) tree.phases[p] += none.phases[p];
    tree.children.push_back(std::move(none));
  }
  return tree;
}

}  // namespace xlatrace::report
