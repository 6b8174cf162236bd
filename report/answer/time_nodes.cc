// SPDX-License-Identifier: Apache-2.0
#include "report/answer/time_nodes.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace xlatrace::report {
namespace {

std::optional<int64_t> IntOrNone(const store::Table& table, size_t row, std::string_view column) {
  if (table.IsNull(row, column)) return std::nullopt;
  return table.Int(row, column);
}

// The condition that selects one tree, and which one it is. No condition: there is no tree.
Result<std::pair<std::string, std::string>> ChosenTree(store::RunDb& db) {
  XLATRACE_ASSIGN(const store::Table roots,
                  db.Select("SELECT process_id, device_id FROM time_tree WHERE parent_id IS NULL"
                            " ORDER BY process_id IS NOT NULL, device_id IS NOT NULL, process_id,"
                            " device_id LIMIT 1"));
  if (roots.rows.empty()) return std::pair(std::string(), std::string());
  XLATRACE_ASSIGN(const store::Table counts,
                  db.Select("SELECT (SELECT count(*) FROM process) AS processes,"
                            " (SELECT count(*) FROM device) AS devices"));
  const int64_t processes = counts.Int(0, "processes"), devices = counts.Int(0, "devices");
  if (roots.IsNull(0, "process_id")) {
    const std::string of = processes > 1 ? fmt::format("mean over {} processes", processes)
                           : devices > 1 ? fmt::format("mean over {} devices", devices)
                                         : std::string();
    return std::pair(std::string("process_id IS NULL"), of);
  }
  const int64_t process = roots.Int(0, "process_id");
  const std::string device =
      roots.IsNull(0, "device_id") ? "IS NULL" : fmt::format("= {}", roots.Int(0, "device_id"));
  return std::pair(fmt::format("process_id = {} AND device_id {}", process, device),
                   fmt::format("process {} of {}", process, processes));
}

}  // namespace

std::string FunctionOf(const TimeNode& node) {
  if (node.source_file.empty()) return node.name;
  if (const size_t end = node.name.find("): "); end != node.name.npos) {
    return node.name.substr(end + 3);
  }
  if (node.name.starts_with('$')) {
    if (const size_t end = node.name.find(' '); end != node.name.npos) {
      return node.name.substr(end + 1);
    }
  }
  return node.name;
}

Result<TimeNodes> LoadTimeNodes(store::RunDb& db) {
  XLATRACE_ASSIGN(const auto chosen, ChosenTree(db));
  TimeNodes tree{.of = chosen.second};
  if (chosen.first.empty()) return tree;
  XLATRACE_ASSIGN(
      const store::Table rows,
      db.Select(fmt::format("SELECT node_id, parent_id, kind, name, phase, layer_group, op_kind,"
                            " source_file, source_line, ns, per_step_ns, p25_ns, p75_ns, handle"
                            " FROM time_tree WHERE {} ORDER BY node_id",
                            chosen.first)));
  std::map<int64_t, size_t> position_of;
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    const size_t position = tree.nodes.size();
    position_of[rows.Int(i, "node_id")] = position;
    tree.nodes.push_back({.node_id = rows.Int(i, "node_id"),
                          .kind = rows.Text(i, "kind"),
                          .name = rows.Text(i, "name"),
                          .phase = rows.Text(i, "phase"),
                          .layer_group = rows.Text(i, "layer_group"),
                          .op_kind = rows.Text(i, "op_kind"),
                          .source_file = rows.Text(i, "source_file"),
                          .handle = rows.Text(i, "handle"),
                          .source_line = IntOrNone(rows, i, "source_line"),
                          .per_step_ns = IntOrNone(rows, i, "per_step_ns"),
                          .p25_ns = IntOrNone(rows, i, "p25_ns"),
                          .p75_ns = IntOrNone(rows, i, "p75_ns"),
                          .ns = rows.Int(i, "ns")});
    if (rows.IsNull(i, "parent_id")) continue;
    const auto parent = position_of.find(rows.Int(i, "parent_id"));
    if (parent == position_of.end()) {
      return MakeError("a row of time_tree names a parent that is missing",
                       "import its recording again");
    }
    tree.nodes[parent->second].children.push_back(position);
  }
  for (TimeNode& node : tree.nodes) {
    std::stable_sort(node.children.begin(), node.children.end(),
                     [&](size_t a, size_t b) { return tree.nodes[a].ns > tree.nodes[b].ns; });
  }
  return tree;
}

}  // namespace xlatrace::report
