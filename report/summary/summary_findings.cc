// SPDX-License-Identifier: Apache-2.0

// Lines of a summary in a terminal about findings and about causes that could not be tested.

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/number_format.h"
#include "base/shell_word.h"
#include "base/terminal.h"
#include "report/not_known.h"
#include "report/shown_words.h"
#include "report/summary/summary_blocks.h"
#include "report/text_table.h"
#include "report/view_figures.h"

namespace xlatrace::report {
namespace {

constexpr size_t kMaxFindingRows = 5;
constexpr size_t kMaxShownNotKnown = 3;
constexpr size_t kMaxRuledOutLines = 2;
constexpr size_t kMaxTitleLines = 3;
constexpr int kLabelColumns = 12;  // The longest label, "not checked", and a space.

// A line of text after its label, or an indented line without a label.
std::string Labelled(std::string_view label, const std::string& text) {
  return fmt::format("{:<{}}{}", label, kLabelColumns, text);
}

// "0.760 to 27.9 ms" if the lower bound is less than half of the upper one.
std::string SavingText(const FindingFigure& finding, int64_t high_ns, bool mark_bounds) {
  const std::string high = Duration(static_cast<double>(high_ns));
  if (finding.bound()) return (mark_bounds ? "<=" : "") + high;
  const int64_t low_ns = finding.saves_low_ns.value_or(high_ns);
  const bool of_job = finding.saves_high_ns_per_job_step.has_value();
  if (of_job || 2 * low_ns >= high_ns) return high;
  return fmt::format("{} to {}", Duration(static_cast<double>(low_ns)), high);
}

// Savings of the run and savings per step are two lists, one after the other.
bool HasTwoLists(const std::vector<FindingFigure>& findings, size_t count) {
  bool of_run = false, per_step = false;
  for (size_t i = 0; i < count; ++i) {
    if (!findings[i].saves_high_ns) continue;
    (findings[i].of_run ? of_run : per_step) = true;
  }
  return of_run && per_step;
}

}  // namespace

SummaryLines FindingsBlock::Lines() const {
  if (view_.findings.empty()) {
    if (!view_.basis.steady) return {};
    return {"actions     no change is known that saves 1% of the step"};
  }
  constexpr int kMaxSourceWidth = 28;
  const size_t count = std::min(kMaxFindingRows, view_.findings.size());
  const std::string per_step = view_.StepsAreJobs() ? "/step" : "";
  const bool any = std::any_of(view_.findings.begin(), view_.findings.end(),
                               [](const FindingFigure& f) { return !f.bound(); });
  std::vector<SummaryLines> rows;  // Saving, confidence, source.
  const std::string saves_heading = (any ? "saves" : "saves at most") + per_step;
  constexpr std::string_view kConfidenceHeading = "confidence";
  int beside[] = {static_cast<int>(saves_heading.size()),
                  static_cast<int>(kConfidenceHeading.size()), 0};
  for (size_t i = 0; i < count; ++i) {
    const FindingFigure& finding = view_.findings[i];
    const std::string_view path = finding.where_source;
    std::string_view source = path.substr(path.find_last_of('/') + 1);
    if (finding.title.find(source) != std::string::npos) source = {};  // The title has the place.
    const auto& saves = finding.saves_high_ns_per_job_step ? finding.saves_high_ns_per_job_step
                                                           : finding.saves_high_ns;
    rows.push_back(
        {saves ? SavingText(finding, *saves, any) : "", finding.confidence, std::string(source)});
    for (size_t c = 0; c < 3; ++c) beside[c] = std::max(beside[c], DisplayWidth(rows[i][c]));
  }
  const bool has_sources = beside[2] > 0;
  if (has_sources) beside[2] = std::clamp(beside[2], 6, kMaxSourceWidth);
  // A title that is wider than the remaining columns continues in the next line.
  const int room = std::max(width_ - beside[0] - beside[1] - beside[2] - 3 - 2, 20);
  std::vector<TextColumn> columns = {{.heading = "action", .flexible = true},
                                     {.heading = saves_heading, .right = true},
                                     {.heading = std::string(kConfidenceHeading)}};
  if (has_sources) columns.push_back({.heading = "source", .at_most = kMaxSourceWidth});
  TextTable table(std::move(columns));
  const bool two_lists = HasTwoLists(view_.findings, count);
  std::string_view list;
  for (size_t i = 0; i < count; ++i) {
    const FindingFigure& finding = view_.findings[i];
    const std::string_view its_list = finding.of_run ? "once per run" : "in each step";
    if (two_lists && finding.saves_high_ns && its_list != list) {
      list = its_list;
      table.Add({std::string(list)});
    }
    const SummaryLines title = Wrap(Clean(view_.findings[i].title), room);
    for (size_t k = 0; k < std::min(kMaxTitleLines, title.size()); ++k) {
      if (k > 0) {
        table.Add({"  " + title[k]});
      } else {
        SummaryLines cells = {fmt::format("{} {}", i + 1, title[0]), rows[i][0], rows[i][1]};
        if (has_sources) cells.push_back(rows[i][2]);
        table.Add(std::move(cells));
      }
    }
  }
  SummaryLines lines = table.Lines(width_, options_.ascii);
  const size_t more =
      view_.findings.size() > kMaxFindingRows ? view_.findings.size() - kMaxFindingRows : size_t{0};
  const std::string others = more > 0 ? fmt::format("; {} more", more) : "";
  const std::string words = AllTogether();
  lines.push_back(Clean(fmt::format("  {}{}; evidence of 1: xlatrace show {} {}", words, others,
                                    view_.findings[0].handle, ShellWord(view_.path))));
  if (DisplayWidth(lines.back()) > width_) lines.back() = Clean("  " + words + others);
  if (DisplayWidth(lines.back()) > width_) lines.back() = Clean("  " + words);
  return lines;
}

// Savings overlap. Only for replayed ones the joint saving is known.
std::string FindingsBlock::AllTogether() const {
  if (!view_.replay.all_findings_step_ns) {
    const bool of_devices = !view_.basis.steady && Workers(view_) > 1;
    return fmt::format("savings overlap, so do not add them{}",
                       view_.StepsAreJobs() ? "; times in titles are totals"
                       : of_devices         ? "; they are " + OfRunWords(view_)
                                            : "");
  }
  const bool others =
      std::any_of(view_.findings.begin(), view_.findings.end(),
                  [](const FindingFigure& f) { return f.saves_high_ns && !f.replayed(); });
  return fmt::format("{} together: {} -> {} per step by replay",
                     others ? "the replayed actions" : "all actions",
                     Duration(static_cast<double>(view_.replay.step_ns)),
                     Duration(static_cast<double>(*view_.replay.all_findings_step_ns)));
}

SummaryLines RuledOutBlock::Lines() const {
  SummaryLines lines;
  // The division of device time is no check.
  for (const RuledOutFigure& ruled_out : view_.ruled_out) {
    if (ruled_out.id != "work" || ruled_out.figure.empty()) continue;
    const SummaryLines wrapped = Wrap(Clean(ruled_out.figure), width_ - kLabelColumns);
    for (size_t k = 0; k < wrapped.size(); ++k) {
      lines.push_back(Labelled(k > 0 ? "" : "by kind", wrapped[k]));
    }
  }
  for (const std::string_view verdict : {"fine", "withheld"}) {
    const bool fine = verdict == "fine";
    SummaryLines items;
    for (const RuledOutFigure& ruled_out : view_.ruled_out) {
      if (ruled_out.verdict != verdict || (fine && ruled_out.id == "work")) continue;
      // A ruled-out cause has its name and figure; an undecided one has the missing data.
      const bool figure = fine && !ruled_out.figure.empty();
      items.push_back(figure ? fmt::format("{} ({})", ruled_out.what, ruled_out.figure)
                             : ruled_out.text);
    }
    const SummaryLines wrapped = WrapItems(items, fine ? ", " : "; ");
    for (size_t k = 0; k < wrapped.size(); ++k) {
      lines.push_back(Labelled(k > 0 ? "" : fine ? "no problem" : "not checked", wrapped[k]));
    }
  }
  return lines;
}

// As many items as fit into two lines, and the number of the others.
SummaryLines RuledOutBlock::WrapItems(const SummaryLines& items, std::string_view between) const {
  SummaryLines wrapped;
  for (size_t left_out = 0; left_out < items.size(); ++left_out) {
    std::string text;
    for (size_t i = 0; i + left_out < items.size(); ++i) {
      text += (i == 0 ? "" : std::string(between)) + items[i];
    }
    if (left_out > 0) text += fmt::format("{}{} more", between, left_out);
    wrapped = Wrap(Clean(text), width_ - kLabelColumns);
    if (wrapped.size() <= kMaxRuledOutLines) break;
  }
  if (wrapped.size() > kMaxRuledOutLines) wrapped.resize(kMaxRuledOutLines);
  return wrapped;
}

SummaryLines NotKnownBlock::Lines() const {
  SummaryLines lines;
  const std::vector<Sentence> not_known = NotKnown(view_);
  for (size_t i = 0; i < std::min(kMaxShownNotKnown, not_known.size()); ++i) {
    const SummaryLines wrapped = Wrap(Clean(PlainText(not_known[i])), width_ - kLabelColumns);
    for (size_t k = 0; k < std::min<size_t>(2, wrapped.size()); ++k) {
      lines.push_back(Labelled(i == 0 && k == 0 ? "limits" : "", wrapped[k]));
    }
  }
  std::vector<std::string> ends = view_.losses.Sentences();
  constexpr size_t kMaxEndLines = 2;
  if (ends.size() > kMaxEndLines) {
    ends[kMaxEndLines - 1] = fmt::format(
        "{} more processes did not close their recording: xlatrace "
        "query {} \"SELECT * FROM process\"",
        ends.size() - kMaxEndLines + 1, ShellWord(view_.path));
    ends.resize(kMaxEndLines);
  }
  for (size_t i = 0; i < ends.size(); ++i) {
    const SummaryLines wrapped = Wrap(Clean(ends[i]), width_ - kLabelColumns);
    for (size_t k = 0; k < wrapped.size(); ++k) {
      lines.push_back(Labelled(i == 0 && k == 0 ? "missing" : "", wrapped[k]));
    }
  }
  // The profile belongs to the program and the option to TensorFlow, so the user needs a hint.
  for (const StatFigure& stat : view_.stats) {
    const bool counts = stat.name == "kernels_not_recorded" || stat.name == "page_migration";
    if (!counts && stat.name != "own_profile_without_gpu" &&
        stat.name != "tensorflow_ops_unannounced") {
      continue;
    }
    const std::string text =
        counts ? fmt::format("{} {}", Thousands(stat.value), stat.advice) : stat.advice;
    const SummaryLines wrapped = Wrap(Clean(text), width_ - kLabelColumns);
    for (size_t k = 0; k < wrapped.size(); ++k) {
      lines.push_back(Labelled(k == 0 ? "note" : "", wrapped[k]));
    }
    break;
  }
  size_t shown = 0;
  for (const StatFigure& stat : view_.stats) {
    if (stat.severity < model::Severity::kDataLoss || shown++ == 2) break;
    const std::string text =
        fmt::format("{} {}: {}", Thousands(stat.value), stat.name, stat.advice);
    const SummaryLines wrapped = Wrap(Clean(text), width_ - kLabelColumns);
    for (size_t k = 0; k < std::min<size_t>(3, wrapped.size()); ++k) {
      lines.push_back(Labelled(shown == 1 && k == 0 ? "lost" : "", wrapped[k]));
    }
  }
  return lines;
}

}  // namespace xlatrace::report
