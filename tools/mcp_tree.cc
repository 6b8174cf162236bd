// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "tools/mcp_tools.h"

namespace xlatrace::tools {
namespace {

// Levels and share of a node's time that one answer shows. Each node has a number for the next
// call.
constexpr int kLevels = 3;
constexpr double kMinPercent = 0.5;

// The node with the least detail: the mean of the job, else of a process, else a device.
constexpr std::string_view kTopNode =
    "(SELECT node_id FROM time_tree WHERE parent_id IS NULL ORDER BY process_id IS NOT NULL, "
    "device_id IS NOT NULL, ns DESC LIMIT 1)";

std::string TreeSql(const std::string& node) {
  return fmt::format(
      "WITH RECURSIVE below(id, depth, place) AS ("
      "SELECT node_id, 0, '' FROM time_tree WHERE node_id = {0} "
      "UNION ALL SELECT t.node_id, depth + 1, "
      "place || printf('%019d%09d', 9000000000000000000 - coalesce(t.ns, 0), t.node_id) "
      "FROM below JOIN time_tree t ON t.parent_id = id WHERE depth < {1}) "
      "SELECT id AS node, depth, kind, name, round(ns / 1e6, 3) AS ms, "
      "round(per_step_ns / 1e6, 3) AS ms_per_step, "
      "round(100.0 * ns / (SELECT ns FROM time_tree WHERE node_id = {0}), 1) AS percent, "
      "(SELECT count(*) FROM time_tree c WHERE c.parent_id = id) AS children, handle "
      "FROM below JOIN time_tree ON node_id = id "
      "WHERE depth = 0 OR 100.0 * ns >= {2} * (SELECT ns FROM time_tree WHERE node_id = {0}) "
      "ORDER BY place",
      node, kLevels, kMinPercent);
}

// Parts of the mean steady step, or of all steps if none is steady.
constexpr std::string_view kStepParts =
    "WITH s AS (SELECT device_id, step FROM step WHERE typical OR NOT EXISTS (SELECT 1 FROM step "
    "WHERE steady)) "
    "SELECT part, round(sum(wall_ns) / 1e6 / (SELECT count(*) FROM s), 3) AS ms_per_step, "
    "round(100.0 * sum(wall_ns) / (SELECT sum(wall_ns) FROM step_part JOIN s USING (device_id, "
    "step)), 1) AS percent, (SELECT count(*) FROM s) AS steps "
    "FROM step_part JOIN s USING (device_id, step) GROUP BY part ORDER BY sum(wall_ns) DESC";

bool HasRows(const std::string& csv) {
  const size_t line = csv.find('\n');
  return line != csv.npos && line + 1 < csv.size();
}

}  // namespace

McpAnswer AnswerTree(McpContext& context, const McpArguments& arguments) {
  const auto run = context.files.Open(arguments.Text("run"));
  if (!run) return ErrorAnswer(run.error().message);
  const std::string node =
      arguments.Has("node") ? std::to_string(arguments.Integer("node")) : std::string(kTopNode);
  McpAnswer tree = AnswerOfSql(
      context,
      fmt::format(
          "time tree of {}: {} levels, nodes with at least {} % of the first; call tree with "
          "a node for its children",
          run->handle, kLevels, kMinPercent),
      *run, TreeSql(node));
  if (tree.data.find("no such table: time_tree") == tree.data.npos) {
    if (!tree.head.starts_with("cannot") && !HasRows(tree.data)) {
      return ErrorAnswer(arguments.Has("node") ? "the time tree has no such node"
                                               : "the run has no time tree");
    }
    return tree;
  }
  if (arguments.Has("node")) return ErrorAnswer("the run has no time tree, only parts of steps");
  McpAnswer parts = AnswerOfSql(context, fmt::format("parts of the mean step of {}", run->handle),
                                *run, std::string(kStepParts));
  if (!parts.head.starts_with("cannot") && !HasRows(parts.data)) {
    return ErrorAnswer("the run has neither a time tree nor steps");
  }
  return parts;
}

}  // namespace xlatrace::tools
