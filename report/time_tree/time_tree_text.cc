// SPDX-License-Identifier: Apache-2.0
#include "report/time_tree/time_tree_text.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/number_format.h"
#include "report/answer/time_nodes.h"
#include "report/show/show_sheet.h"
#include "report/text_table.h"

namespace xlatrace::report {
namespace {

constexpr size_t kDefaultTreeRows = 30;  // A screen of 45 lines holds them below the first lines.
constexpr int kTreeSchemaVersion = 1;

// The tree; an error if run.db has none.
Result<TimeNodes> TreeOf(store::RunDb& db) {
  XLATRACE_ASSIGN(TimeNodes tree, LoadTimeNodes(db));
  if (tree.nodes.empty()) {
    return MakeError("this run has no time tree", "import its recording again");
  }
  return tree;
}

// "host: env.step", "op: fusion.3 (train.py:7)". A name that repeats the kind is left out.
std::string NodeLabel(const TimeNode& node) {
  if (node.kind == "root") return "all recorded time";
  std::string kind(node.kind);
  std::replace(kind.begin(), kind.end(), '_', ' ');
  std::string label = node.name.empty()   ? kind
                      : node.kind == "op" ? std::string(node.name)
                                          : fmt::format("{}: {}", kind, node.name);
  if (node.source_file.empty()) return label;
  const std::string_view file = node.source_file.substr(node.source_file.rfind('/') + 1);
  return node.source_line ? fmt::format("{} ({}:{})", label, file, *node.source_line)
                          : fmt::format("{} ({})", label, file);
}

// The `rows` largest nodes. A parent is at least as large as its children, and comes before them.
std::vector<bool> LargestNodes(const TimeNodes& tree, size_t rows) {
  std::vector<size_t> order(tree.nodes.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return tree.nodes[a].ns > tree.nodes[b].ns; });
  std::vector<bool> shown(tree.nodes.size());
  for (size_t i = 0; i < std::min(rows, order.size()); ++i) {
    shown[order[i]] = tree.nodes[order[i]].ns > 0;
  }
  return shown;
}

class TreeWriter {
 public:
  TreeWriter(const TimeNodes& tree, std::vector<bool> shown)
      : tree_(tree),
        shown_(std::move(shown)),
        table_({{.heading = "part", .flexible = true},
                {.heading = "time", .right = true},
                {.heading = "%", .right = true},
                {.heading = "per step", .right = true},
                {.heading = "half of the steps", .right = true}}) {}

  TextTable Write() {
    Add(0, 0);
    return table_;
  }

 private:
  void Add(size_t position, size_t depth) {
    const TimeNode& node = tree_.nodes[position];
    AddRow(depth, NodeLabel(node), node.ns, node.per_step_ns,
           node.p25_ns && node.p75_ns && *node.p25_ns != *node.p75_ns
               ? fmt::format("{} to {}", Duration(static_cast<double>(*node.p25_ns)),
                             Duration(static_cast<double>(*node.p75_ns)))
               : std::string());
    size_t others = 0;
    int64_t others_ns = 0, others_per_step_ns = 0;
    bool per_step = false;
    for (const size_t child : node.children) {
      if (shown_[child]) {
        Add(child, depth + 1);
        continue;
      }
      const TimeNode& other = tree_.nodes[child];
      if (other.ns == 0) continue;
      ++others;
      others_ns += other.ns;
      per_step = per_step || other.per_step_ns.has_value();
      others_per_step_ns += other.per_step_ns.value_or(0);
    }
    // Children of a node that is itself among the smallest shown need no row of their own.
    if (others == 0 || others == node.children.size()) return;
    AddRow(depth + 1, fmt::format("[{} smaller]", others), others_ns,
           per_step ? std::optional(others_per_step_ns) : std::nullopt, "");
  }

  void AddRow(size_t depth, const std::string& label, int64_t ns,
              std::optional<int64_t> per_step_ns, const std::string& range) {
    const auto whole = static_cast<double>(std::max<int64_t>(tree_.nodes[0].ns, 1));
    table_.Add({std::string(2 * depth, ' ') + label, Duration(static_cast<double>(ns)),
                fmt::format("{:.1f}", 100 * static_cast<double>(ns) / whole),
                per_step_ns ? Duration(static_cast<double>(*per_step_ns)) : std::string(), range});
  }

  const TimeNodes& tree_;
  std::vector<bool> shown_;
  TextTable table_;
};

Json NodeJson(const TimeNodes& tree, size_t position) {
  const auto or_null = [](const auto& value) { return value ? Json(*value) : Json(); };
  const auto text_or_null = [](std::string_view text) {
    return text.empty() ? Json() : Json(text);
  };
  const TimeNode& node = tree.nodes[position];
  Json json = {{"kind", node.kind},
               {"name", text_or_null(node.name)},
               {"ns", node.ns},
               {"per_step_ns", or_null(node.per_step_ns)},
               {"p25_ns", or_null(node.p25_ns)},
               {"p75_ns", or_null(node.p75_ns)},
               {"source_file", text_or_null(node.source_file)},
               {"source_line", or_null(node.source_line)},
               {"handle", text_or_null(node.handle)},
               {"children", Json::array()}};
  for (const size_t child : node.children) json["children"].push_back(NodeJson(tree, child));
  return json;
}

}  // namespace

Result<std::string> TimeTreeText(store::RunDb& db, const TimeTreeOptions& options) {
  XLATRACE_ASSIGN(const TimeNodes tree, TreeOf(db));
  const size_t rows = options.rows == 0 ? kDefaultTreeRows : options.rows;
  std::string text;
  if (!tree.of.empty()) text += tree.of + "\n";
  TreeWriter writer(tree, LargestNodes(tree, rows));
  for (const std::string& line : writer.Write().Lines(options.width, options.ascii)) {
    text += line + "\n";
  }
  return text;
}

Result<std::string> TimeTreeJson(store::RunDb& db) {
  XLATRACE_ASSIGN(const TimeNodes tree, TreeOf(db));
  const Json json = {{"schema_version", kTreeSchemaVersion},
                     {"of", tree.of.empty() ? Json() : Json(tree.of)},
                     {"tree", NodeJson(tree, 0)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace xlatrace::report
