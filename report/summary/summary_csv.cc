// SPDX-License-Identifier: Apache-2.0

// Summary as CSV and as Markdown.

#include <algorithm>
#include <string>
#include <string_view>
#include <variant>

#include <fmt/format.h>

#include "base/csv.h"
#include "base/number_format.h"
#include "base/share_text.h"
#include "base/terminal.h"
#include "report/answer/answer_text.h"
#include "report/breakdown.h"
#include "report/device_parts.h"
#include "report/shown_words.h"
#include "report/summary/summary.h"
#include "report/summary/summary_blocks.h"
#include "report/trust.h"
#include "report/view_figures.h"

namespace xlatrace::report {
namespace {

constexpr size_t kMarkdownRows = 20;
constexpr size_t kMarkdownCellWidth = 80;  // Columns.

std::string CsvCell(const store::Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return CsvText(*text);
  if (const auto* number = std::get_if<int64_t>(&cell)) return std::to_string(*number);
  if (const auto* real = std::get_if<double>(&cell)) return fmt::format("{}", *real);
  return {};
}

// A cell of a Markdown table: no markup, no HTML, no line break.
std::string MarkdownText(std::string_view text) {
  std::string out;
  for (const char c : Printable(text)) {
    if (std::string_view("\\`*_{}[]<>()#+!|~&").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

// A name in a code span, in which only the bar and the backtick are special.
std::string MarkdownName(std::string_view text) {
  std::string name = Printable(text);
  if (DisplayWidth(name) > static_cast<int>(kMarkdownCellWidth)) {
    name = FitLeft(name, static_cast<int>(kMarkdownCellWidth));
  }
  if (name.empty()) return name;
  std::string out(1, '`');
  for (const char c : name) {
    if (c == '`') {
      out += '\'';
    } else if (c == '|') {
      out += "\\|";
    } else {
      out += c;
    }
  }
  out += '`';
  return out;
}

std::string MarkdownSentence(const Sentence& sentence) {
  std::string out;
  for (const Piece& piece : sentence) {
    out += piece.code ? MarkdownName(piece.text) : MarkdownText(piece.text);
  }
  return out;
}

void MarkdownParts(const RunView& view, std::string& out) {
  if (view.basis.steady && view.has_step_parts) {
    out += "| part of the step | ms/step | % |\n|---|---:|---:|\n";
    const auto whole = static_cast<double>(view.steps.wall_ns);
    for (const model::StepPart part : kPartOrder) {
      const int64_t ns = view.step_parts[static_cast<size_t>(part)];
      if (ns == 0) continue;
      out += fmt::format("| {} | {} | {} |\n", PartWords(part), Milliseconds(view.PerStep(ns)),
                         ShareText(static_cast<double>(ns), whole));
    }
    out += fmt::format("| **step** | **{}** | 100 |\n\n",
                       Milliseconds(view.PerStep(view.steps.wall_ns)));
    return;
  }
  out += fmt::format("| {} | ms, whole run | % |\n|---|---:|---:|\n", DevicePartsName(view));
  const auto whole = static_cast<double>(view.coverage.device_ns);
  for (const DevicePart& part : DeviceParts(view)) {
    out += fmt::format("| {} | {} | {} |\n", part.words, Milliseconds(view.PerStep(part.ns)),
                       ShareText(static_cast<double>(part.ns), whole));
  }
  out += fmt::format("| **all device time** | **{}** | 100 |\n\n",
                     Milliseconds(view.PerStep(view.coverage.device_ns)));
}

}  // namespace

std::string SummaryCsv(const RunView& view, const SummaryOptions& options) {
  const RunView& of = options.table != nullptr ? *options.table : view;
  const Breakdown table = MakeBreakdown(of, options.by);
  std::string out;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (i > 0) out += ',';
    out += table.columns[i];
  }
  out += "\r\n";
  size_t left = options.rows == 0 ? table.rows.size() : options.rows;
  for (const auto& row : table.rows) {
    if (left-- == 0) break;
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0) out += ',';
      out += CsvCell(row[i]);
    }
    out += "\r\n";
  }
  return out;
}

std::string SummaryMarkdown(const RunView& view, const SummaryOptions& options) {
  const AnswerText answer = TextOf(view);
  std::string out = fmt::format("**{}**\n\n{}\n\n", MarkdownSentence(answer.All()),
                                MarkdownSentence(answer.reason));
  out += MarkdownName(view.title);
  if (!view.devices.empty()) out += ", " + MarkdownText(view.DeviceText());
  if (view.basis.steady) {
    const std::string waits = BusyWaitWords(view);
    out += fmt::format(
        ", {}, busy {}%{}", StepWords(view.steps),
        ShareText(static_cast<double>(view.steps.busy_ns), static_cast<double>(view.steps.wall_ns)),
        waits.empty() ? "" : " (" + waits + ")");
  }
  if (view.coverage.device_ns > 0) out += ", " + AttributedWords(view).text;
  out += fmt::format(", lost {}\n\n", view.losses.Text());
  MarkdownParts(view, out);

  const RunView& of = options.table != nullptr ? *options.table : view;
  const Breakdown table = MakeBreakdown(of, options.by);
  const size_t rows = options.rows == 0 ? kMarkdownRows : options.rows;
  const std::string_view unit = view.basis.steady ? "ms/step" : "ms, whole run";
  const bool ops = options.by == By::kOp;
  out += ops ? fmt::format(
                   "| op | instruction | kind | phase | scope | source | {} | % |\n"
                   "|---|---|---|---|---|---|---:|---:|\n",
                   unit)
             : fmt::format("| {} | {} | % |\n|---|---:|---:|\n", table.name, unit);
  const size_t ns = table.columns.size() - 3;
  const auto whole = static_cast<double>(of.coverage.device_ns);
  int64_t others = 0;
  const bool steps = options.by == By::kStep;  // Wall time of one step each.
  const auto ms = [&](int64_t time) {
    return Milliseconds(steps ? static_cast<double>(time) : view.PerStep(time));
  };
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const auto& row = table.rows[i];
    const int64_t time = std::get<int64_t>(row[ns]);
    if (i >= rows) {
      others += time;
      continue;
    }
    const auto text = [&row](size_t column) {
      const auto* value = std::get_if<std::string>(&row[column]);
      return value == nullptr ? std::string() : *value;
    };
    const auto stack_name = [&] {
      const auto* line = std::get_if<int64_t>(&row[2]);
      std::string name;
      for (int64_t k = std::get<int64_t>(row[0]); k > 0; --k) name += "- ";
      return name + SourceLine(text(1), line == nullptr ? std::nullopt : std::optional(*line)) +
             " " + text(3);
    };
    const auto line_of = [](const std::vector<store::Cell>& cells) {
      const auto* value = std::get_if<int64_t>(&cells[0]);
      return value == nullptr ? int64_t{0} : *value;
    };
    std::optional<int64_t> line;
    if (const auto* value = std::get_if<int64_t>(&row[ops ? 10 : 1])) line = *value;
    if (ops) {
      const std::string name = text(3);
      out += fmt::format("| {} | {} | {} | {} | {} | {} ", text(0),
                         name.empty() ? "no instruction" : MarkdownName(name),
                         MarkdownText(KindWords(text(4))), text(5),
                         MarkdownName(ScopeWords(text(7), text(8))),
                         MarkdownName(SourceLine(text(9), line)));
    } else {
      const std::string name = options.by == By::kSource   ? SourceLine(text(0), line)
                               : options.by == By::kStack  ? stack_name()
                               : options.by == By::kModule ? text(1)
                               : options.by == By::kStep   ? std::to_string(line_of(row))
                                                           : text(0);
      out += fmt::format("| {} ", name.empty() ? "not known" : MarkdownName(name));
    }
    // A step's wall time is no share of device time.
    out += fmt::format("| {} | {} |\n", ms(time),
                       steps ? "" : ShareText(static_cast<double>(time), whole));
  }
  const std::string_view blank = ops ? "|  |  |  |  " : "";
  if (table.rows.size() > rows) {
    out +=
        fmt::format("| {}{} others {}| {} | {} |\n", ops ? "| " : "", table.rows.size() - rows,
                    blank, ms(others), steps ? "" : ShareText(static_cast<double>(others), whole));
  }
  if (steps) return out;
  out += fmt::format("| {}all device time {}| {} | 100 |\n", ops ? "| " : "", blank,
                     Milliseconds(view.PerStep(of.coverage.device_ns)));
  return out;
}

}  // namespace xlatrace::report
