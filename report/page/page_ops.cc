// SPDX-License-Identifier: Apache-2.0

// The tables `ops` and `op_shares`: every instruction with time, and its descriptions.

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "hlo/shape.h"
#include "report/op_fold.h"
#include "report/page/page_context.h"

namespace xlatrace::report {
namespace {

using store::Statement;
using store::Table;

// Columns of op_time in the order of the page's table, from `category` on.
constexpr std::string_view kOpTimeSql =
    "SELECT handle, module_id, op AS instruction, steady_ns, self_ns, category, op_kind, phase, "
    "layer,"
    " layer_group, op_name, source_file, source_line, occurrences, total_ns, min_ns, max_ns, flops,"
    " bytes, wasted_ns, bound_by, theoretical_occupancy_pct, occupancy_limiter, expected_ns,"
    " compute_utilisation_pct, memory_utilisation_pct, compute_type, confidence, estimated, mixed,"
    " critical_pct, slack_ns FROM op_time WHERE op IS NOT NULL";

struct Details {  // Columns of an instruction; opcode empty: unknown.
  std::string opcode;
  std::string shape;
};

// Number of the line that `summary` folds an op into; ops without time in the basis are alone.
std::unordered_map<std::string, int64_t> FoldNumbers(const RunView& view, int64_t* next) {
  std::unordered_map<std::string, int64_t> numbers;
  const std::vector<size_t> folds = FoldRows(view);
  for (size_t i = 0; i < folds.size(); ++i) {
    numbers.emplace(view.ops[i].handle, static_cast<int64_t>(folds[i]));
    *next = std::max(*next, static_cast<int64_t>(folds[i]) + 1);
  }
  return numbers;
}

// Texts of call stacks, outermost frame first: "train.py:9 main > model.py:3 apply". Stacks of one
// line without a function are none. The files of the user go to the page's data.
Result<std::unordered_map<int64_t, std::string>> StackTexts(PageContext& page) {
  std::unordered_map<int64_t, std::string> texts;
  nlohmann::ordered_json files = nlohmann::ordered_json::array();
  std::set<std::string> seen;
  XLATRACE_TRY(page.db.ForEach(
      "SELECT stack_id, file, line, function, is_user FROM source_stack ORDER BY stack_id,"
      " depth DESC",
      [&](const Statement& row) {
        const std::string file(row.Text(1));
        if (row.Int64(4) != 0 && seen.insert(file).second) files.push_back(file);
        if (row.IsNull(3) && !texts.contains(row.Int64(0))) return true;
        std::string& text = texts[row.Int64(0)];
        if (!text.empty()) text += " > ";
        text += fmt::format("{}:{} {}", file, row.Int64(2), row.Text(3));
        return true;
      }));
  page.meta["user_files"] = std::move(files);
  return texts;
}

}  // namespace

Status LoadPageOps(PageContext& page) {
  XLATRACE_ASSIGN(const Table rows, page.db.Select(kOpTimeSql));
  XLATRACE_ASSIGN(const Table stacks,
                  page.db.Select("SELECT stack_id FROM op_time WHERE op IS NOT NULL"));
  XLATRACE_ASSIGN(const auto texts, StackTexts(page));
  const std::string_view time = page.view.basis.steady ? "steady_ns" : "self_ns";
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    PageOp op;
    op.handle = rows.Text(i, "handle");
    op.module_id = rows.Int(i, "module_id");
    op.instruction = rows.Text(i, "instruction");
    op.ns = rows.Int(i, time);
    op.self_ns = rows.Int(i, "self_ns");
    op.occurrences = rows.Int(i, "occurrences");
    op.row_in_sql = static_cast<int64_t>(i);
    if (const auto text = texts.find(stacks.Int(i, "stack_id")); text != texts.end()) {
      op.stack = text->second;
    }
    page.ops.push_back(std::move(op));
  }
  std::stable_sort(page.ops.begin(), page.ops.end(),
                   [](const PageOp& a, const PageOp& b) { return a.ns > b.ns; });
  for (size_t i = 0; i < page.ops.size(); ++i) {
    page.op_rows.emplace(OpKey(page.ops[i].module_id, page.ops[i].instruction),
                         static_cast<int64_t>(i));
  }
  return {};
}

Status WriteOpTables(PageContext& page) {
  XLATRACE_ASSIGN(const Table rows, page.db.Select(kOpTimeSql));
  std::vector<Details> details(page.ops.size());
  XLATRACE_TRY(page.db.ForEach(
      "SELECT module_id, instruction, opcode, shape FROM instruction", [&](const Statement& row) {
        const auto op = page.op_rows.find(OpKey(row.Int64(0), row.Text(1)));
        if (op == page.op_rows.end()) return true;
        details[static_cast<size_t>(op->second)] = {std::string(row.Text(2)),
                                                    std::string(row.Text(3))};
        return true;
      }));
  PageTable table("ops", page.blocks.strings());
  table.Declare(
      "category:text op_kind:word phase:word layer:text layer_group:text op_name:text"
      " source_file:text source_line occurrences total_ns min_ns max_ns flops bytes wasted_ns"
      " bound_by:text theoretical_occupancy_pct:real occupancy_limiter:text expected_ns"
      " compute_utilisation_pct:real memory_utilisation_pct:real compute_type:text confidence:word "
      "estimated mixed critical_pct:real slack_ns handle:text"
      " module>modules instruction:text instruction_row>instructions unattributed_reason:word"
      " opcode:text shape:text dtype:text ns calls self_ns copies stack:text");
  constexpr size_t kFirstSqlIndex = 5;    // `category` in kOpTimeSql.
  constexpr size_t kFirstMoreIndex = 27;  // `handle` in the table.
  int64_t next_fold = 0;
  const auto folds = FoldNumbers(page.view, &next_fold);
  for (size_t i = 0; i < page.ops.size(); ++i) {
    const PageOp& op = page.ops[i];
    if (op.row_in_sql >= 0) {
      const auto& row = rows.rows[static_cast<size_t>(op.row_in_sql)];
      for (size_t c = kFirstSqlIndex; c < row.size(); ++c)
        SetCell(table, c - kFirstSqlIndex, row[c]);
    } else {
      table.SetText(1, op.op_kind);
      table.SetText(2, op.phase);
      table.Set(8, op.occurrences);
      table.Set(9, op.total_ns);
      table.SetText(kFirstMoreIndex - 5, "none");
      table.Set(kFirstMoreIndex - 4, int64_t{0});
      table.Set(kFirstMoreIndex - 3, int64_t{0});
    }
    table.SetText(kFirstMoreIndex, op.handle);
    SetCell(table, kFirstMoreIndex + 1, op.module_id, &page.modules);
    table.SetText(kFirstMoreIndex + 2, op.instruction);
    table.Set(kFirstMoreIndex + 3, op.instruction_row);
    table.SetText(kFirstMoreIndex + 4, op.reason);
    table.SetText(kFirstMoreIndex + 5, details[i].opcode);
    table.SetText(kFirstMoreIndex + 6, details[i].shape);
    table.SetText(kFirstMoreIndex + 7, hlo::FirstLeaf(details[i].shape).type);
    table.Set(kFirstMoreIndex + 8, op.ns);
    table.Set(kFirstMoreIndex + 9, op.calls);
    table.Set(kFirstMoreIndex + 10, op.self_ns);
    const auto fold = folds.find(op.handle);
    table.Set(kFirstMoreIndex + 11, fold != folds.end() ? fold->second : next_fold++);
    table.SetText(kFirstMoreIndex + 12, op.stack);
    table.EndRow();
  }
  page.blocks.Write(table);
  return WriteShareTable(page, "op_shares", "ops");
}

}  // namespace xlatrace::report
