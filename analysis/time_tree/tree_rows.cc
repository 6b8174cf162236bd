// SPDX-License-Identifier: Apache-2.0
#include "analysis/time_tree/tree_rows.h"

#include <algorithm>
#include <unordered_map>

#include "analysis/apportion.h"

namespace xlatrace::analysis::time_tree {
namespace {

using model::TimeTreeRow;
using model::TreeKind;

// Sums of the nodes over devices, before any division.
struct Sums {
  std::vector<int64_t> ns;
  std::vector<int64_t> typical_ns;  // In typical steps.
  bool has_quartiles = false;
  std::vector<int64_t> p25_ns;
  std::vector<int64_t> p75_ns;
};

// With fewer values a quartile only lies somewhere between two of them.
constexpr size_t kMinStepsOfQuartiles = 4;

// As Quartile of the values and as many zeros as are missing to `count`.
int64_t QuartileWithZeros(std::vector<int64_t>& values, size_t count, int quarter) {
  const size_t zeros = count - std::min(count, values.size());
  const auto rank = static_cast<int64_t>(count - 1) * quarter;
  const auto value_at = [&](size_t at) { return at < zeros ? 0 : values[at - zeros]; };
  const auto at = static_cast<size_t>(rank / 4);
  const int64_t low = value_at(at);
  return rank % 4 == 0 ? low : low + (value_at(at + 1) - low) * (rank % 4) / 4;
}

struct StepEntry {
  uint32_t step = 0;  // Position among the steady steps.
  int64_t ns = 0;
};

class Adder {
 public:
  Adder(const NodeTable& nodes, const std::vector<int64_t>& steady)
      : nodes_(nodes.nodes()), steady_(steady) {
    sums_.ns.assign(nodes_.size(), 0);
    sums_.typical_ns.assign(nodes_.size(), 0);
    sums_.has_quartiles = steady_.size() >= kMinStepsOfQuartiles;
    sums_.p25_ns.assign(nodes_.size(), 0);
    sums_.p75_ns.assign(nodes_.size(), 0);
    of_node_.resize(nodes_.size());
  }

  void Add(const DeviceEntries& device) {
    std::vector<int64_t> position(device.numbers->size(), -1);
    std::vector<bool> typical(device.numbers->size(), false);
    for (size_t k = 0; k < position.size(); ++k) {
      const int64_t number = (*device.numbers)[k];
      const auto at = std::lower_bound(steady_.begin(), steady_.end(), number);
      if (at != steady_.end() && *at == number) position[k] = at - steady_.begin();
      typical[k] = std::binary_search(device.typical->begin(), device.typical->end(), number);
    }
    for (const Entry& entry : *device.entries) {
      sums_.ns[entry.node] += entry.ns;
      if (entry.step == kNoStepIndex) continue;
      if (typical[static_cast<size_t>(entry.step)]) sums_.typical_ns[entry.node] += entry.ns;
      if (position[static_cast<size_t>(entry.step)] < 0) continue;
      of_node_[entry.node].push_back(
          {static_cast<uint32_t>(position[static_cast<size_t>(entry.step)]), entry.ns});
    }
  }

  // Children follow their parents in the table, so one pass from the end computes all sums.
  const Sums& Sum() {
    std::unordered_map<NodeId, std::vector<int64_t>> of_parent;  // One sum per steady step.
    std::vector<int64_t> values;
    for (size_t n = nodes_.size(); n > 0; --n) {
      const auto node = static_cast<NodeId>(n - 1);
      const NodeId parent = nodes_[node].parent;
      if (node != NodeTable::kRoot) sums_.ns[parent] += sums_.ns[node];
      if (node != NodeTable::kRoot && nodes_[node].kind != TreeKind::kSteps) {
        sums_.typical_ns[parent] += sums_.typical_ns[node];
      }
      std::vector<int64_t> dense;
      if (const auto known = of_parent.find(node); known != of_parent.end()) {
        dense = std::move(known->second);
        of_parent.erase(known);
      }
      std::vector<StepEntry>& own = of_node_[node];
      if (dense.empty() && own.empty()) continue;
      if (dense.empty()) dense.assign(steady_.size(), 0);
      for (const StepEntry& entry : own) dense[entry.step] += entry.ns;
      own = {};
      values.clear();
      for (const int64_t ns : dense) {
        if (ns != 0) values.push_back(ns);
      }
      std::sort(values.begin(), values.end());
      sums_.p25_ns[node] = QuartileWithZeros(values, steady_.size(), 1);
      sums_.p75_ns[node] = QuartileWithZeros(values, steady_.size(), 3);
      if (node == NodeTable::kRoot || nodes_[node].kind == TreeKind::kSteps) continue;
      std::vector<int64_t>& of = of_parent[parent];
      if (of.empty()) of.assign(steady_.size(), 0);
      for (size_t s = 0; s < dense.size(); ++s) of[s] += dense[s];
    }
    return sums_;
  }

 private:
  const std::vector<Node>& nodes_;
  const std::vector<int64_t>& steady_;
  std::vector<std::vector<StepEntry>> of_node_;
  Sums sums_;
};

class RowMaker {
 public:
  RowMaker(const NodeTable& nodes, const Sums& sums, int64_t devices, const TypicalSteps& typical)
      : nodes_(nodes.nodes()), sums_(sums), devices_(devices), typical_(typical) {
    children_.resize(nodes_.size());
    for (NodeId n = 1; n < nodes_.size(); ++n) {
      if (sums_.ns[n] != 0) children_[nodes_[n].parent].push_back(n);
    }
    for (std::vector<NodeId>& of : children_) {
      std::stable_sort(of.begin(), of.end(),
                       [&](NodeId a, NodeId b) { return sums_.ns[a] > sums_.ns[b]; });
    }
  }

  std::vector<TimeTreeRow> Rows() {
    AddNode(NodeTable::kRoot, 0, sums_.ns[NodeTable::kRoot] / devices_, std::nullopt);
    return std::move(rows_);
  }

 private:
  void AddNode(NodeId node, model::Id parent_id, int64_t ns, std::optional<int64_t> per_step) {
    TimeTreeRow row;
    row.parent_id = parent_id;
    row.kind = nodes_[node].kind;
    row.name = nodes_[node].name;
    row.instruction_id = nodes_[node].instruction_id;
    row.source_file = nodes_[node].source_file;
    row.source_line = nodes_[node].source_line;
    row.ns = ns;
    if (row.kind == TreeKind::kSteps && typical_.steps > 0) {
      per_step = sums_.typical_ns[node] / typical_.steps;
    }
    row.per_step_ns = per_step;
    if (per_step && sums_.has_quartiles) {
      row.p25_ns = sums_.p25_ns[node] / typical_.devices;
      row.p75_ns = sums_.p75_ns[node] / typical_.devices;
    }
    rows_.push_back(std::move(row));
    const auto id = static_cast<model::Id>(rows_.size());
    const std::vector<NodeId>& children = children_[node];
    if (children.empty()) return;
    std::vector<int64_t> weights, parts(children.size()), step_parts;
    for (const NodeId child : children) weights.push_back(sums_.ns[child]);
    Apportion(ns, weights, parts);
    if (per_step) {
      weights.clear();
      for (const NodeId child : children) weights.push_back(sums_.typical_ns[child]);
      step_parts.resize(children.size());
      Apportion(*per_step, weights, step_parts);
    }
    for (size_t k = 0; k < children.size(); ++k) {
      AddNode(children[k], id, parts[k],
              per_step ? std::optional<int64_t>(step_parts[k]) : std::nullopt);
    }
  }

  const std::vector<Node>& nodes_;
  const Sums& sums_;
  const int64_t devices_;
  const TypicalSteps typical_;
  std::vector<std::vector<NodeId>> children_;
  std::vector<TimeTreeRow> rows_;
};

}  // namespace

std::vector<TimeTreeRow> TreeRows(const NodeTable& nodes, const std::vector<DeviceEntries>& devices,
                                  size_t count, const TypicalSteps& typical,
                                  const std::vector<int64_t>& steady) {
  if (count == 0) return {};
  Adder adder(nodes, steady);
  for (const DeviceEntries& device : devices) adder.Add(device);
  return RowMaker(nodes, adder.Sum(), static_cast<int64_t>(count), typical).Rows();
}

}  // namespace xlatrace::analysis::time_tree
