// SPDX-License-Identifier: Apache-2.0
#include "report/answer/time_nodes.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace xlatrace::report {
namespace {

constexpr size_t kChunkBytes = 64 << 10;

// The condition that selects a tree, and the kind of the tree. No condition: there is no tree.
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

std::string_view FunctionOf(const TimeNode& node) {
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

std::string_view NodeTexts::Add(std::string_view text) {
  if (text.empty()) return {};
  if (chunks_.empty() || chunks_.back().capacity() - chunks_.back().size() < text.size()) {
    chunks_.emplace_back().reserve(std::max(kChunkBytes, text.size()));
  }
  std::string& chunk = chunks_.back();
  const size_t at = chunk.size();
  chunk += text;
  return std::string_view(chunk).substr(at);
}

std::string_view NodeTexts::AddOnce(std::string_view text) {
  const auto known = known_.find(text);
  return known != known_.end() ? *known : *known_.insert(Add(text)).first;
}

Result<TimeNodes> LoadTimeNodes(store::RunDb& db) {
  XLATRACE_ASSIGN(const auto chosen, ChosenTree(db));
  TimeNodes tree{.of = chosen.second};
  if (chosen.first.empty()) return tree;
  NodeTexts& texts = *tree.texts;
  bool damaged = false;
  XLATRACE_TRY(db.ForEach(
      fmt::format("SELECT node_id, parent_id, kind, name, phase, layer_group, op_kind,"
                  " source_file, source_line, ns, per_step_ns, p25_ns, p75_ns, handle"
                  " FROM time_tree WHERE {} ORDER BY node_id",
                  chosen.first),
      [&](const store::Statement& row) {
        const int64_t id = row.Int64(0);
        const size_t position = tree.nodes.size();
        tree.nodes.push_back({.node_id = id,
                              .kind = texts.AddOnce(row.Text(2)),
                              .name = texts.Add(row.Text(3)),
                              .phase = texts.AddOnce(row.Text(4)),
                              .layer_group = texts.AddOnce(row.Text(5)),
                              .op_kind = texts.AddOnce(row.Text(6)),
                              .source_file = texts.AddOnce(row.Text(7)),
                              .handle = texts.Add(row.Text(13)),
                              .source_line = row.OptionalInt64(8),
                              .per_step_ns = row.OptionalInt64(10),
                              .p25_ns = row.OptionalInt64(11),
                              .p75_ns = row.OptionalInt64(12),
                              .ns = row.Int64(9)});
        if (row.IsNull(1)) return true;
        const int64_t parent_id = row.Int64(1);
        const auto parent = std::lower_bound(
            tree.nodes.begin(), tree.nodes.end(), parent_id,
            [](const TimeNode& node, int64_t wanted) { return node.node_id < wanted; });
        damaged = parent == tree.nodes.end() || parent->node_id != parent_id || parent_id == id;
        if (!damaged) parent->children.push_back(position);
        return !damaged;
      }));
  if (damaged) {
    return MakeError("a row of time_tree names a parent that is missing",
                     "import its recording again");
  }
  for (TimeNode& node : tree.nodes) {
    std::stable_sort(node.children.begin(), node.children.end(),
                     [&](size_t a, size_t b) { return tree.nodes[a].ns > tree.nodes[b].ns; });
  }
  return tree;
}

}  // namespace xlatrace::report
