// SPDX-License-Identifier: Apache-2.0
#include "report/answer/answer.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "report/answer/visible_nodes.h"

namespace xlatrace::report {
namespace {

// Position of the first node of a kind; nullopt: there is no such node.
std::optional<size_t> NodeOfKind(const TimeNodes& tree, std::string_view kind) {
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    if (tree.nodes[i].kind == kind) return i;
  }
  return std::nullopt;
}

bool HasTypicalStep(const TimeNodes& tree) {
  const std::optional<size_t> step = NodeOfKind(tree, "step");
  return step && tree.nodes[*step].per_step_ns.value_or(0) > 0;
}

std::optional<RunAnswer> RunOf(const TimeNodes& tree) {
  const TimeNode& root = tree.nodes[0];
  if (root.ns <= 0) return std::nullopt;
  std::optional<size_t> first;
  for (const size_t child : root.children) {
    const TimeNode& node = tree.nodes[child];
    const bool steps = node.kind == "steps" || node.kind == "call";
    if (steps && 2 * node.ns >= root.ns) {
      if (HasTypicalStep(tree)) return std::nullopt;
      first = child;
      break;
    }
    if (!steps && !first && node.ns > 0) first = child;
  }
  if (!first) return std::nullopt;
  return RunAnswer{.descent = DescendFrom(tree, 0, TimeUnit::kRun, first)};
}

std::optional<StepAnswer> StepOf(const TimeNodes& tree) {
  if (!HasTypicalStep(tree)) return std::nullopt;
  const std::optional<size_t> step = NodeOfKind(tree, "step");
  StepAnswer answer{.descent = DescendFrom(tree, *step, TimeUnit::kStep)};
  const int64_t typical = tree.nodes[*step].per_step_ns.value_or(0);
  answer.typical_ns = typical;
  answer.low_ns = tree.nodes[*step].p25_ns.value_or(typical);
  answer.high_ns = tree.nodes[*step].p75_ns.value_or(typical);
  answer.contention_ns = ContentionPerStep(tree, *step);
  return answer;
}

// The limit must be known for most of the part's ops.
Result<std::optional<LimitFigure>> OpLimit(store::RunDb& db, const TimeNodes& tree,
                                           const TimePart& part) {
  const bool all_ops = part.nodes.size() == 1 && part.kind == "computation";
  const std::vector<size_t>& nodes = all_ops ? tree.nodes[part.nodes[0]].children : part.nodes;
  std::map<std::string, int64_t> share_of;  // By handle.
  int64_t all = 0;
  for (const size_t position : nodes) {
    const TimeNode& node = tree.nodes[position];
    all += node.ns;
    if (!node.handle.empty()) share_of[std::string(node.handle)] += node.ns;
  }
  XLATRACE_ASSIGN(const store::Table ops,
                  db.Select("SELECT handle, bound_by, expected_ns, self_ns FROM op_time"
                            " WHERE expected_ns IS NOT NULL AND self_ns > 0"));
  double known = 0, at_limit = 0;
  std::map<std::string, double> bound;
  for (size_t i = 0; i < ops.rows.size(); ++i) {
    const auto found = share_of.find(ops.Text(i, "handle"));
    if (found == share_of.end()) continue;
    const auto ns = static_cast<double>(found->second);
    known += ns;
    at_limit += ns * static_cast<double>(ops.Int(i, "expected_ns")) /
                static_cast<double>(ops.Int(i, "self_ns"));
    bound[ops.Text(i, "bound_by")] += ns;
  }
  if (known <= 0 || 2 * known < static_cast<double>(all)) return std::optional<LimitFigure>();
  const auto most = std::max_element(
      bound.begin(), bound.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  LimitFigure limit{.bound_by = most->first};
  limit.of_limit = std::clamp(at_limit / known, 0.0, 1.0);
  return std::optional(limit);
}

// Data rate of the copies of one direction, compared with their link.
Result<std::optional<LimitFigure>> CopyLimit(store::RunDb& db, const std::string& copy_kind) {
  XLATRACE_ASSIGN(
      const store::Table sums,
      db.Select("SELECT sum(bytes) AS bytes, sum(duration_ns) AS ns,"
                " min(link_bytes_per_s) AS link FROM copy WHERE copy_kind = ?1 AND bytes > 0",
                {copy_kind}));
  if (sums.rows.empty() || sums.IsNull(0, "bytes") || sums.Int(0, "ns") <= 0) {
    return std::optional<LimitFigure>();
  }
  LimitFigure limit{.copies = true};
  limit.bytes_per_s =
      1e9 * static_cast<double>(sums.Int(0, "bytes")) / static_cast<double>(sums.Int(0, "ns"));
  if (!sums.IsNull(0, "link")) {
    limit.limit_bytes_per_s = static_cast<double>(sums.Int(0, "link"));
    if (limit.limit_bytes_per_s > 0) {
      limit.of_limit = std::clamp(limit.bytes_per_s / limit.limit_bytes_per_s, 0.0, 1.0);
    }
  }
  return std::optional(limit);
}

Result<std::optional<LimitFigure>> LimitOf(store::RunDb& db, const TimeNodes& tree,
                                           const Descent& descent) {
  const TimePart& part = descent.path.back();
  if (descent.beside) return std::optional<LimitFigure>();
  if (part.kind == "op" || part.kind == "computation") return OpLimit(db, tree, part);
  if (part.kind == "exposed_copy" && !part.name.empty()) return CopyLimit(db, part.name);
  return std::optional<LimitFigure>();
}

Result<std::optional<LateRankAnswer>> LoadLateRank(store::RunDb& db) {
  XLATRACE_ASSIGN(const store::Table rows,
                  db.Select("SELECT l.*, p.rank, p.pid, d.ordinal, (SELECT count(*) FROM process)"
                            " AS processes FROM late_rank l JOIN process p USING (process_id)"
                            " JOIN device d USING (device_id)"));
  if (rows.rows.empty()) return std::optional<LateRankAnswer>();
  LateRankAnswer late{.process_id = rows.Int(0, "process_id"),
                      .device_id = rows.Int(0, "device_id"),
                      .ranks = rows.Int(0, "ranks"),
                      .work = rows.Text(0, "work"),
                      .cost_ns = rows.Int(0, "cost_ns"),
                      .excess_ns = rows.Int(0, "excess_ns"),
                      .step_ns = rows.Int(0, "step_ns")};
  if (!rows.IsNull(0, "rank")) late.rank = rows.Int(0, "rank");
  if (rows.Int(0, "processes") < 2) {
    late.name = "device " + std::to_string(rows.Int(0, "ordinal"));
  } else if (late.rank) {
    late.name = "rank " + std::to_string(*late.rank);
  } else {
    late.name =
        "process " + std::to_string(rows.IsNull(0, "pid") ? late.process_id : rows.Int(0, "pid"));
  }
  return std::optional(late);
}

}  // namespace

Result<Answer> LoadAnswer(store::RunDb& db) {
  Answer answer;
  XLATRACE_ASSIGN(const TimeNodes tree, LoadTimeNodes(db));
  answer.has_tree = !tree.nodes.empty();
  if (!answer.has_tree) return answer;
  answer.visible = VisibleNodes(tree);
  answer.run = RunOf(tree);
  answer.step = StepOf(tree);
  if (answer.step) {
    XLATRACE_ASSIGN(answer.late, LoadLateRank(db));
  }
  if (answer.run) {
    XLATRACE_ASSIGN(answer.run->limit, LimitOf(db, tree, answer.run->descent));
  }
  if (answer.step) {
    XLATRACE_ASSIGN(answer.step->limit, LimitOf(db, tree, answer.step->descent));
  }
  return answer;
}

}  // namespace xlatrace::report
