// SPDX-License-Identifier: Apache-2.0
#include "report/time_tree/host_table.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/number_format.h"
#include "base/share_text.h"
#include "report/answer/time_nodes.h"
#include "report/shown_words.h"
#include "report/text_table.h"

namespace xlatrace::report {
namespace {

constexpr size_t kDefaultHostRows = 20;
constexpr int kHostTableSchemaVersion = 1;

// Kinds of idle time that the host explains.
constexpr std::array<std::string_view, 21> kHostKinds = {
    "launch", "dispatch", "copy_wait", "sync",     "alloc",         "host",  "input",
    "io",     "lock",     "gc",        "sleep",    "contention",    "trace", "lower",
    "passes", "compile",  "codegen",   "autotune", "recompilation", "cache", "load"};

bool IsHostKind(std::string_view kind) {
  return std::find(kHostKinds.begin(), kHostKinds.end(), kind) != kHostKinds.end();
}

struct HostRow {
  std::string function, source_file;
  std::optional<int64_t> source_line;
  std::string kind;
  int64_t ns = 0;
  std::optional<int64_t> per_step_ns;
  int64_t kind_ns = 0;  // Time of `kind`.
};

struct HostRows {
  std::string of;
  int64_t idle_ns = 0;
  std::vector<HostRow> rows;  // The largest first.
  // Other programs are no code to change, so contention is below the program's own functions.
  std::vector<HostRow> contention;
};

class RowCollector {
 public:
  explicit RowCollector(const TimeNodes& tree) : tree_(tree) {}

  HostRows Collect() {
    HostRows rows{.of = tree_.of};
    bool stepped = false;
    for (const size_t child : tree_.nodes[0].children) {
      const std::string_view kind = tree_.nodes[child].kind;
      if (kind != "steps" && kind != "between_steps") continue;
      stepped = true;
      Visit(child);
    }
    if (!stepped) Visit(0);
    for (auto& [key, row] : rows_) {
      rows.idle_ns += row.ns;
      if (row.ns <= 0) continue;
      (row.kind == "contention" ? rows.contention : rows.rows).push_back(std::move(row));
    }
    std::stable_sort(rows.rows.begin(), rows.rows.end(),
                     [](const HostRow& a, const HostRow& b) { return a.ns > b.ns; });
    return rows;
  }

 private:
  void Visit(size_t position) {
    for (const size_t child : tree_.nodes[position].children) {
      const TimeNode& node = tree_.nodes[child];
      if (IsHostKind(node.kind)) {
        Add(node);
      } else {
        Visit(child);
      }
    }
  }

  void Add(const TimeNode& node) {
    const std::string function(FunctionOf(node));
    const bool named = !node.source_file.empty();
    HostRow& row = rows_[{function, std::string(node.source_file),
                          std::string(named ? std::string_view() : node.kind)}];
    row.function = function;
    row.source_file = node.source_file;
    if (!row.source_line || node.ns > row.kind_ns) row.source_line = node.source_line;
    if (row.kind.empty() || node.ns > row.kind_ns) {
      row.kind = node.kind;
      row.kind_ns = node.ns;
    }
    row.ns += node.ns;
    if (node.per_step_ns) row.per_step_ns = row.per_step_ns.value_or(0) + *node.per_step_ns;
  }

  const TimeNodes& tree_;
  std::map<std::tuple<std::string, std::string, std::string>, HostRow> rows_;
};

Result<HostRows> RowsOf(store::RunDb& db) {
  XLATRACE_ASSIGN(const TimeNodes tree, LoadTimeNodes(db));
  if (tree.nodes.empty()) {
    return MakeError("this run has no time tree", "import its recording again");
  }
  return RowCollector(tree).Collect();
}

std::string KindText(std::string kind) {
  std::replace(kind.begin(), kind.end(), '_', ' ');
  return kind;
}

}  // namespace

Result<std::string> HostTableText(store::RunDb& db, const TimeTreeOptions& options) {
  XLATRACE_ASSIGN(const HostRows rows, RowsOf(db));
  TextTable table({{.heading = "the device waited for", .flexible = true},
                   {.heading = "line"},
                   {.heading = "kind"},
                   {.heading = "ms/step", .right = true},
                   {.heading = "ms in all", .right = true},
                   {.heading = "%", .right = true}});
  const auto ms = [](int64_t ns) { return Milliseconds(static_cast<double>(ns)); };
  const auto share = [&](int64_t ns) {
    return ShareText(static_cast<double>(ns), static_cast<double>(rows.idle_ns));
  };
  const size_t shown = options.rows == 0 ? kDefaultHostRows : options.rows;
  const auto add = [&](const HostRow& row) {
    table.Add({row.function.empty() ? "[no function]" : row.function,
               SourceLine(row.source_file, row.source_line), KindText(row.kind),
               row.per_step_ns ? ms(*row.per_step_ns) : "", ms(row.ns), share(row.ns)});
  };
  int64_t others_ns = 0;
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    const HostRow& row = rows.rows[i];
    if (i >= shown) {
      others_ns += row.ns;
      continue;
    }
    add(row);
  }
  if (rows.rows.size() > shown) {
    table.Add({fmt::format("[{} others]", rows.rows.size() - shown), "", "", "", ms(others_ns),
               share(others_ns)});
  }
  for (const HostRow& row : rows.contention) add(row);
  table.Add({"all idle time that the host explains", "", "", "", ms(rows.idle_ns),
             rows.idle_ns > 0 ? "100" : ""});
  std::string text;
  if (!rows.of.empty()) text += rows.of + "\n";
  for (const std::string& line : table.Lines(options.width, options.ascii)) text += line + "\n";
  return text;
}

Result<std::string> HostTableJson(store::RunDb& db, const TimeTreeOptions& options) {
  using Object = nlohmann::ordered_json;
  XLATRACE_ASSIGN(const HostRows rows, RowsOf(db));
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? Object() : Object(text);
  };
  const auto number_or_null = [](const std::optional<int64_t>& number) {
    return number ? Object(*number) : Object();
  };
  Object json = {{"schema_version", kHostTableSchemaVersion},
                 {"of", text_or_null(rows.of)},
                 {"idle_ns", rows.idle_ns},
                 {"rows", Object::array()}};
  std::vector<HostRow> shown = rows.rows;
  if (options.rows != 0 && shown.size() > options.rows) shown.resize(options.rows);
  shown.insert(shown.end(), rows.contention.begin(), rows.contention.end());
  for (const HostRow& row : shown) {
    const double pct = 100.0 * static_cast<double>(row.ns) / static_cast<double>(rows.idle_ns);
    json["rows"].push_back({{"function", text_or_null(row.function)},
                            {"source_file", text_or_null(row.source_file)},
                            {"source_line", number_or_null(row.source_line)},
                            {"kind", row.kind},
                            {"ns", row.ns},
                            {"ns_per_step", number_or_null(row.per_step_ns)},
                            {"pct", pct}});
  }
  return json.dump(2, ' ', false, Object::error_handler_t::replace) + "\n";
}

}  // namespace xlatrace::report
