// SPDX-License-Identifier: Apache-2.0
#include "report/page/page_compare.h"

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "compare/breakdown.h"
#include "report/glyphs.h"
#include "report/page/page_table.h"
#include "report/shown_words.h"
#include "report/view_figures.h"

namespace xlatrace::report {
namespace {

using compare::Row;
using Json = nlohmann::ordered_json;

std::string Why(const Row& row) {
  std::string text;
  for (const compare::Cause& cause : row.causes) text += (text.empty() ? "" : "; ") + cause.text;
  return text;
}

// Words for "(not_xla)" and similar reasons of work without an instruction.
std::string ShownName(const std::string& name) {
  if (name.size() < 3 || name.front() != '(' || name.back() != ')') return name;
  const std::string reason = name.substr(1, name.size() - 2);
  const std::string_view words = ReasonWords(reason);
  return words == reason ? name : fmt::format("no instruction: {}", words);
}

void WriteRows(const PageComparison& compared, PageBlocks& blocks) {
  PageTable rows("compare_rows", blocks.strings());
  rows.Declare(
      "name:text level:word base_ns new_ns base_calls:real new_calls:real why:text certain:flag"
      " op_kind:word phase:word");
  PageTable ops("compare_ops", blocks.strings());
  ops.Declare("row>compare_rows op>ops base_op>base_ops");
  const std::vector<bool> usual =
      compare::RowsOfUsualVariation(compared.comparison, compared.changes);
  for (size_t r = 0; r < compared.comparison.rows.size(); ++r) {
    const Row& row = compared.comparison.rows[r];
    rows.SetText(0, ShownName(compare::RowName(compared.base, compared.now, row)));
    rows.SetText(1, Text(row.level));
    rows.Set(2, row.base_ns);
    rows.Set(3, row.now_ns);
    rows.SetReal(4, row.base_calls);
    rows.SetReal(5, row.now_calls);
    rows.SetText(6, usual[r] ? std::string() : WithGlyphs(Why(row)));
    rows.Set(7, static_cast<int64_t>(!row.causes.empty() && row.causes.front().certain));
    const compare::Op* op = compare::LargestOf(compared.now, row.now);
    if (op == nullptr) op = compare::LargestOf(compared.base, row.base);
    if (op != nullptr) {
      rows.SetText(8, op->op_kind);
      rows.SetText(9, model::Text(op->phase));
    }
    rows.EndRow();
    const auto list = [&](const compare::Run& run, const std::vector<size_t>& members,
                          const PageRowsOf& rows_of, size_t column) {
      for (const size_t i : members) {
        for (const size_t at : rows_of(run.ops[i])) {
          ops.Set(0, static_cast<int64_t>(r));
          ops.Set(column, static_cast<int64_t>(at));
          ops.EndRow();
        }
      }
    };
    list(compared.now, row.now, compared.now_rows, 1);
    list(compared.base, row.base, compared.base_rows, 2);
  }
  blocks.Write(rows);
  blocks.Write(ops);
}

void WriteChanges(const PageComparison& compared, PageBlocks& blocks) {
  PageTable changes("compare_changes", blocks.strings());
  changes.Declare("kind:word text:text where:text because:text change_ns wall:flag certain:flag");
  PageTable rows("compare_change_rows", blocks.strings());
  rows.Declare("change>compare_changes row>compare_rows");
  for (size_t c = 0; c < compared.changes.size(); ++c) {
    const compare::Change& change = compared.changes[c];
    changes.SetText(0, change.id);
    changes.SetText(1, WithGlyphs(change.text));
    changes.SetText(2, change.where);
    changes.SetText(3, change.because);
    changes.Set(4, change.delta_ns);
    changes.Set(5, static_cast<int64_t>(change.wall));
    changes.Set(6, static_cast<int64_t>(change.certain));
    changes.EndRow();
    for (const size_t row : change.rows) {
      rows.Set(0, static_cast<int64_t>(c));
      rows.Set(1, static_cast<int64_t>(row));
      rows.EndRow();
    }
  }
  blocks.Write(changes);
  blocks.Write(rows);
}

void WriteGroups(const PageComparison& compared, PageBlocks& blocks) {
  PageTable groups("compare_groups", blocks.strings());
  groups.Declare("by:word name:text base_ns new_ns base_calls:real new_calls:real");
  for (size_t by = 0; by < compare::ByTexts().size(); ++by) {
    if (static_cast<compare::By>(by) == compare::By::kOp) continue;
    for (const compare::BreakdownRow& row : compare::Breakdown(
             compared.base, compared.now, compared.comparison, static_cast<compare::By>(by))) {
      groups.SetText(0, compare::ByTexts()[by]);
      groups.SetText(1, ShownName(row.name));
      groups.Set(2, row.base_ns);
      groups.Set(3, row.now_ns);
      groups.SetReal(4, row.base_calls);
      groups.SetReal(5, row.now_calls);
      groups.EndRow();
    }
  }
  blocks.Write(groups);
}

// Heading and reasons as two texts, if the verdict has both. Otherwise the heading has all text.
struct Parts {
  std::string heading, reasons;
};
Parts PartsOf(const compare::Verdict& verdict) {
  const std::string_view sentence = verdict.sentence;
  if (verdict.outcome.empty() || !sentence.starts_with(verdict.outcome)) return {verdict.sentence};
  const std::string_view rest = sentence.substr(verdict.outcome.size());
  const size_t begin = rest.find_first_not_of(" .:;,");
  return {verdict.outcome + ".",
          begin == rest.npos ? std::string() : Capitalised(rest.substr(begin))};
}

}  // namespace

nlohmann::ordered_json WriteCompareTables(const PageComparison& compared, PageBlocks& blocks) {
  WriteRows(compared, blocks);
  WriteChanges(compared, blocks);
  WriteGroups(compared, blocks);
  const compare::Comparison& comparison = compared.comparison;
  const Parts said = PartsOf(compared.verdict);
  return {{"verdict", WithGlyphs(compared.verdict.sentence)},
          // The page has only this text if the pace of whole recordings is compared.
          {"outcome", compared.verdict.time.word == compare::ResultWord::kUnknown
                          ? WithGlyphs(compared.verdict.outcome)
                          : std::string()},
          {"heading", WithGlyphs(said.heading)},
          {"reasons", WithGlyphs(said.reasons)},
          {"noise", WithGlyphs(compared.verdict.noise)},
          {"same_recording", comparison.identity.same_recording},
          {"unchanged", compared.verdict.same_program && compared.changes.empty() &&
                            compared.verdict.time.word == compare::ResultWord::kNotDistinguishable},
          {"refusals", comparison.identity.refusals},
          {"qualifications", comparison.identity.qualifications},
          {"differences", comparison.identity.differences},
          {"per_step", compared.base.steady && compared.now.steady},
          {"base_device_ns", comparison.base_device_ns},
          {"new_device_ns", comparison.now_device_ns}};
}

}  // namespace xlatrace::report
