// SPDX-License-Identifier: Apache-2.0
#include "report/answer/descent.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace xlatrace::report {
namespace {

enum class Column { kOpKind, kPhase, kLayerGroup, kSourceLine, kOp };
// Two recordings of one program rarely agree better. Parts that differ by less are about equal.
constexpr double kMinDifference = 0.05;

// A part with this share of its whole represents the whole.
constexpr double kMinConcentratedShare = 0.9;

constexpr std::array<Column, 5> kColumns = {Column::kOpKind, Column::kPhase, Column::kLayerGroup,
                                            Column::kSourceLine, Column::kOp};

std::string_view NameOf(Column column) {
  switch (column) {
    case Column::kOpKind:
      return "op_kind";
    case Column::kPhase:
      return "phase";
    case Column::kLayerGroup:
      return "layer_group";
    case Column::kSourceLine:
      return "source_line";
    case Column::kOp:
      return "op";
  }
  return {};
}

// Empty: the value is not known, so the op belongs to no part.
std::string ValueOf(const TimeNode& op, Column column) {
  switch (column) {
    case Column::kOpKind:
      return op.op_kind == "other" ? std::string() : std::string(op.op_kind);
    case Column::kPhase:
      return op.phase == "unknown" || op.phase == "other" ? std::string() : std::string(op.phase);
    case Column::kLayerGroup:
      return std::string(op.layer_group);
    case Column::kSourceLine:
      return op.source_line ? fmt::format("{}:{}", op.source_file, *op.source_line) : std::string();
    case Column::kOp:
      return std::to_string(op.node_id);
  }
  return {};
}

class Divider {
 public:
  Divider(const TimeNodes& tree, TimeUnit unit) : tree_(tree), unit_(unit) {}

  // Without contention: time in which other programs had the CPU is no part of the program.
  int64_t Amount(size_t position) const {
    const TimeNode& node = tree_.nodes[position];
    if (unit_ == TimeUnit::kRun) return node.ns;
    return node.per_step_ns.value_or(0) - ContentionPerStep(tree_, position);
  }

  TimePart Of(std::vector<size_t> nodes, std::string_view divided_by = {}) const {
    const TimeNode& first = tree_.nodes[nodes[0]];
    const bool one_kind = std::all_of(nodes.begin(), nodes.end(), [&](size_t position) {
      return tree_.nodes[position].kind == first.kind;
    });
    const bool ops_only = one_kind && first.kind == "op";
    TimePart part{
        .kind = std::string(nodes.size() > 1 && ops_only ? "computation" : first.kind),
        .name = std::string(nodes.size() == 1 ? first.name : std::string_view()),
        .handle = std::string(first.handle),  // Nodes are by time: the handle of the largest.
        .divided_by = std::string(divided_by)};
    const bool whole = nodes.size() == 1 && first.kind == "computation";
    const std::vector<size_t>& ops = whole ? first.children : nodes;
    TakeColumns(ops.empty() ? first : tree_.nodes[ops[0]], part);
    for (const size_t position : ops) {
      const TimeNode& node = tree_.nodes[position];
      if (node.op_kind != part.op_kind) part.op_kind.clear();
      if (node.phase != part.phase) part.phase.clear();
      if (node.layer_group != part.layer_group) part.layer_group.clear();
      if (node.source_line != part.source_line) part.source_line.reset();
      if (node.source_file != part.source_file) part.source_file.clear();
    }
    double below = 0, above = 0;  // Squares: ops vary independently of each other.
    for (const size_t position : nodes) {
      const TimeNode& node = tree_.nodes[position];
      const int64_t amount = Amount(position);
      part.ns += amount;
      if (unit_ != TimeUnit::kStep || !node.p25_ns || !node.p75_ns) continue;
      below += Square(static_cast<double>(std::max<int64_t>(amount - *node.p25_ns, 0)));
      above += Square(static_cast<double>(std::max<int64_t>(*node.p75_ns - amount, 0)));
    }
    part.low_ns = part.ns - static_cast<int64_t>(std::sqrt(below));
    part.high_ns = part.ns + static_cast<int64_t>(std::sqrt(above));
    for (size_t i = 0; i < std::min(nodes.size(), kMaxNodeIdsPerPart); ++i) {
      part.node_ids.push_back(tree_.nodes[nodes[i]].node_id);
    }
    part.nodes = std::move(nodes);
    return part;
  }

  // Nodes of a part. Its columns are not read yet, because there may be a million parts.
  struct Group {
    std::vector<size_t> nodes;
    std::string_view divided_by;
    int64_t ns = 0;
  };
  TimePart Of(const Group& group) const { return Of(group.nodes, group.divided_by); }

  // The largest first.
  std::vector<Group> PartsOf(const TimePart& whole) const {
    std::vector<Group> parts;
    const TimeNode& node = tree_.nodes[whole.nodes[0]];
    if (whole.nodes.size() > 1) {
      parts = whole.kind == "computation" ? Divided(whole.nodes) : Single(whole.nodes);
    } else if (node.kind == "computation") {
      parts = Divided(node.children);
    } else {
      parts = ByKindOrSingle(node.children);
    }
    std::erase_if(parts, [&](const Group& part) {
      return part.ns <= 0 || tree_.nodes[part.nodes[0]].kind == "contention";
    });
    std::stable_sort(parts.begin(), parts.end(),
                     [](const Group& a, const Group& b) { return a.ns > b.ns; });
    return parts;
  }

 private:
  static double Square(double value) { return value * value; }

  static void TakeColumns(const TimeNode& node, TimePart& part) {
    part.op_kind = node.op_kind;
    part.phase = node.phase;
    part.layer_group = node.layer_group;
    part.source_file = node.source_file;
    part.source_line = node.source_line;
  }

  Group GroupOf(std::vector<size_t> nodes, std::string_view divided_by = {}) const {
    Group group{.divided_by = divided_by};
    for (const size_t position : nodes) group.ns += Amount(position);
    group.nodes = std::move(nodes);
    return group;
  }

  std::vector<Group> Single(const std::vector<size_t>& nodes) const {
    std::vector<Group> parts;
    for (const size_t position : nodes) parts.push_back(GroupOf({position}));
    return parts;
  }

  // If many functions have small parts of the same kind of time, kinds are the parts.
  std::vector<Group> ByKindOrSingle(const std::vector<size_t>& nodes) const {
    std::map<std::string_view, std::vector<size_t>> by_kind;
    for (const size_t position : nodes) by_kind[tree_.nodes[position].kind].push_back(position);
    if (by_kind.size() < 2 || by_kind.size() == nodes.size()) return Single(nodes);
    std::vector<Group> parts;
    for (auto& [kind, of_kind] : by_kind) {
      std::stable_sort(of_kind.begin(), of_kind.end(),
                       [&](size_t a, size_t b) { return Amount(a) > Amount(b); });
      const bool several = of_kind.size() > 1;
      parts.push_back(GroupOf(std::move(of_kind), several ? "kind" : ""));
    }
    return parts;
  }

  // Ops divided by the column whose largest part is largest, but is not all of them. Ops without a
  // value in this column belong to no part. They must be less than the largest part.
  std::vector<Group> Divided(const std::vector<size_t>& ops) const {
    std::vector<Group> best;
    int64_t largest = 0;
    for (const Column column : kColumns) {
      // Sorted by value, then by the order of `ops`.
      std::vector<std::pair<std::string, size_t>> values;
      int64_t without_value = 0;
      for (const size_t op : ops) {
        std::string value = ValueOf(tree_.nodes[op], column);
        if (value.empty()) without_value += Amount(op);
        if (!value.empty() && Amount(op) > 0) values.emplace_back(std::move(value), op);
      }
      std::stable_sort(values.begin(), values.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      if (values.empty()) continue;
      std::vector<Group> parts;
      for (size_t begin = 0, end = 0; begin < values.size(); begin = end) {
        std::vector<size_t> nodes;
        for (; end < values.size() && values[end].first == values[begin].first; ++end) {
          nodes.push_back(values[end].second);
        }
        std::stable_sort(nodes.begin(), nodes.end(),
                         [&](size_t a, size_t b) { return Amount(a) > Amount(b); });
        parts.push_back(GroupOf(std::move(nodes), NameOf(column)));
      }
      const auto top = std::max_element(parts.begin(), parts.end(),
                                        [](const Group& a, const Group& b) { return a.ns < b.ns; });
      // All ops in one part: this column divides nothing, except if there is only one op.
      if (top->nodes.size() == ops.size() && ops.size() > 1) continue;
      if (top->ns <= largest || top->ns <= without_value) continue;
      largest = top->ns;
      best = std::move(parts);
    }
    return best;
  }

  const TimeNodes& tree_;
  const TimeUnit unit_;
};

// Each of two parts lies within the quartiles of the other, or they differ by little.
bool AboutTheSame(const TimePart& larger, const TimePart& smaller) {
  const auto difference = static_cast<double>(larger.ns - smaller.ns);
  if (difference <= kMinDifference * static_cast<double>(larger.ns)) return true;
  return larger.ns <= smaller.high_ns && smaller.ns >= larger.low_ns;
}

// The innermost part that is nearly all of a part: for example an op instead of the forward pass
// around it.
TimePart Concentrated(const Divider& divider, TimePart part) {
  while (true) {
    const std::vector<Divider::Group> parts = divider.PartsOf(part);
    if (parts.empty() ||
        static_cast<double>(parts[0].ns) < kMinConcentratedShare * static_cast<double>(part.ns)) {
      return part;
    }
    part = divider.Of(parts[0]);
  }
}

size_t MainPart(const std::vector<TimePart>& path) {
  size_t main = 0;
  while (main + 1 < path.size() && 2 * path[main + 1].ns >= path[main].ns) ++main;
  return main;
}

// The op that takes the most time in a sum, or in the computation itself.
std::optional<TimePart> LargestOp(const TimeNodes& tree, const TimePart& part, TimeUnit unit) {
  const std::vector<size_t>& ops =
      part.nodes.size() > 1 ? part.nodes : tree.nodes[part.nodes[0]].children;
  std::optional<TimePart> largest;
  for (const size_t position : ops) {
    const TimeNode& node = tree.nodes[position];
    const int64_t ns = unit == TimeUnit::kRun ? node.ns : node.per_step_ns.value_or(0);
    if (node.kind != "op" || (largest && ns <= largest->ns)) continue;
    largest = TimePart{.nodes = {position},
                       .node_ids = {node.node_id},
                       .kind = std::string(node.kind),
                       .name = std::string(node.name),
                       .op_kind = std::string(node.op_kind),
                       .layer_group = std::string(node.layer_group),
                       .source_file = std::string(node.source_file),
                       .handle = std::string(node.handle),
                       .source_line = node.source_line,
                       .ns = ns};
  }
  return largest;
}

}  // namespace

const TimePart& MainOf(const Descent& descent) {
  if (descent.beside && descent.path.size() > 2) return descent.path[descent.path.size() - 2];
  return descent.main > 0 ? descent.path[descent.main] : descent.path.back();
}

int64_t ContentionPerStep(const TimeNodes& tree, size_t position) {
  const TimeNode& node = tree.nodes[position];
  if (node.kind == "contention") return node.per_step_ns.value_or(0);
  int64_t sum = 0;
  for (const size_t child : node.children) sum += ContentionPerStep(tree, child);
  return sum;
}

Descent DescendFrom(const TimeNodes& tree, size_t start, TimeUnit unit,
                    std::optional<size_t> first) {
  const Divider divider(tree, unit);
  Descent descent{.path = {divider.Of({start})}};
  int64_t largest_beside = 0;  // The largest sibling of the last part or of its ancestors.
  while (true) {
    const TimePart& whole = descent.path.back();
    const auto parts = divider.PartsOf(whole);
    if (first && descent.path.size() == 1) {
      const auto chosen = std::find_if(parts.begin(), parts.end(),
                                       [&](const auto& part) { return part.nodes[0] == *first; });
      if (chosen == parts.end()) break;
      for (const auto& part : parts) {
        if (part.nodes[0] != *first) largest_beside = std::max(largest_beside, part.ns);
      }
      descent.path.push_back(divider.Of(*chosen));
      continue;
    }
    if (parts.empty()) break;
    const TimePart top = divider.Of(parts[0]);
    const int64_t second = parts.size() > 1 ? parts[1].ns : 0;
    if (top.ns <= largest_beside) {
      descent.largest_inside = Concentrated(divider, top);
      break;
    }
    if (TimePart beside; second > 0 && AboutTheSame(top, beside = divider.Of(parts[1]))) {
      // Only the two largest parts are named, so they must be most of the whole.
      if (2 * (top.ns + second) > whole.ns) {
        descent.beside = Concentrated(divider, std::move(beside));
        descent.path.push_back(Concentrated(divider, top));
      } else {
        descent.largest_inside = Concentrated(divider, top);
      }
      break;
    }
    largest_beside = std::max(largest_beside, second);
    descent.path.push_back(top);
  }
  descent.main = MainPart(descent.path);
  if (const TimePart& main = MainOf(descent); main.kind == "computation") {
    descent.largest_op = LargestOp(tree, main, unit);
  }
  return descent;
}

}  // namespace xlatrace::report
