// SPDX-License-Identifier: Apache-2.0

// The time tree of the answer, and idle time by sampled stack of the host.

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "analysis/kernel_class.h"
#include "report/answer/time_nodes.h"
#include "report/device_parts.h"
#include "report/page/page_context.h"
#include "report/shown_words.h"

namespace xlatrace::report {
namespace {

using store::Statement;

// Stacks with the most idle time; the others are one sum.
constexpr size_t kMaxGapStackCount = 2'000;

// The page shows the sum of invisible nodes below their parent.
void WriteTree(PageContext& page) {
  const TimeNodes& tree = page.view.answer.visible;
  PageTable table("time_tree", page.blocks.strings());
  table.Declare(
      "parent>time_tree node_id kind:word name:text phase:word op_kind:word handle:text"
      " source_file:text source_line ns per_step_ns p25_ns p75_ns work:word");
  page.meta["tree_of"] = tree.of;
  if (tree.nodes.empty()) return page.blocks.Write(table);
  const bool by_work = IsKnownByNamesOnly(page.view);
  std::vector<int64_t> parent_row(tree.nodes.size(), -1);  // -1: the root.
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    const TimeNode& node = tree.nodes[i];
    for (const size_t child : node.children) parent_row[child] = static_cast<int64_t>(i);
    if (parent_row[i] >= 0) table.Set(0, parent_row[i]);
    table.Set(1, node.node_id);
    table.SetText(2, node.kind);
    table.SetText(3, node.name);
    table.SetText(4, node.phase);
    table.SetText(5, node.op_kind);
    table.SetText(6, node.handle);
    table.SetText(7, node.source_file);
    table.Set(8, node.source_line);
    table.Set(9, node.ns);
    table.Set(10, node.per_step_ns);
    table.Set(11, node.p25_ns);
    table.Set(12, node.p75_ns);
    if (by_work && node.kind == "op") {
      table.SetText(13, WorkColor(analysis::KernelClassOf(node.name)));
    }
    table.EndRow();
  }
  page.blocks.Write(table);
}

// Frames of each sampled stack, outermost first: "train.py:12 step > loader.py:40 next".
Result<std::map<int64_t, std::string>> GapStackTexts(store::RunDb& db) {
  std::map<int64_t, std::string> texts;
  XLATRACE_TRY(
      db.ForEach("SELECT stack_id, file, line, function FROM host_frame WHERE stack_id IN"
                 " (SELECT stack_id FROM gap_stack) ORDER BY stack_id, depth DESC",
                 [&](const Statement& row) {
                   std::string& text = texts[row.Int64(0)];
                   if (!text.empty()) text += " > ";
                   const std::string file(row.Text(1));
                   const auto line = row.OptionalInt64(2);
                   if (!file.empty())
                     text += line ? fmt::format("{}:{} ", file, *line) : file + " ";
                   text += row.Text(3);
                   return true;
                 }));
  return texts;
}

Status WriteGapStacks(PageContext& page) {
  PageTable table("gap_stacks", page.blocks.strings());
  table.Declare("part:word kind:word stack:text ns");
  XLATRACE_ASSIGN(const auto texts, GapStackTexts(page.db));
  std::map<std::tuple<std::string, std::string, std::string>, int64_t> sums;
  size_t stacks = 0;
  XLATRACE_TRY(page.db.ForEach(
      "SELECT part, kind, stack_id, sum(ns) AS all_ns FROM gap_stack GROUP BY part, kind, stack_id"
      " ORDER BY all_ns DESC, stack_id",
      [&](const Statement& row) {
        const auto text = texts.find(row.OptionalInt64(2).value_or(-1));
        const bool listed = text != texts.end() && ++stacks <= kMaxGapStackCount;
        sums[{std::string(row.Text(0)), std::string(row.Text(1)),
              listed ? text->second : std::string()}] += row.Int64(3);
        return true;
      }));
  for (const auto& [key, ns] : sums) {
    table.SetText(0, std::get<0>(key));
    table.SetText(1, std::get<1>(key));
    table.SetText(2, std::get<2>(key));
    table.Set(3, ns);
    table.EndRow();
  }
  page.blocks.Write(table);
  return {};
}

}  // namespace

Status WriteTreeTables(PageContext& page) {
  WriteTree(page);
  return WriteGapStacks(page);
}

}  // namespace xlatrace::report
