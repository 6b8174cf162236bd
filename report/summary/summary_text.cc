// SPDX-License-Identifier: Apache-2.0

// Summary for a terminal: the answer on one screen.

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/number_format.h"
#include "base/shell_word.h"
#include "base/terminal.h"
#include "report/answer/answer_text.h"
#include "report/op_fold.h"
#include "report/shown_words.h"
#include "report/summary/summary.h"
#include "report/summary/summary_blocks.h"
#include "report/summary/summary_rows.h"
#include "report/text_table.h"

namespace xlatrace::report {
namespace {

constexpr size_t kMaxSummaryLines = 45;
constexpr size_t kMinTableRows = 3;
constexpr size_t kMaxRequestedRows = 15;
// Lines of a table besides its rows: heading, others, no name, total.
constexpr size_t kLinesBesideRows = 4;

// The blocks one under the other, in as many lines as a terminal has.
class Summary : SummaryBlock {
 public:
  Summary(const RunView& view, const SummaryOptions& options)
      : SummaryBlock(view, options), answer_(TextOf(view)) {}

  std::string Make() {
    if (options_.only_table) {
      return Text(Table(options_.rows > 0 ? options_.rows : kMaxSummaryLines - kLinesBesideRows));
    }
    SummaryLines head = HeaderBlock(view_, options_).Lines();
    head.emplace_back();
    AppendLines(head, Job());
    for (const Sentence* sentence : {&answer_.first, &answer_.second}) {
      for (const std::string& line : Wrap(Clean(PlainText(*sentence)), width_ - 2)) {
        head.push_back("  " + Bold(line));
      }
    }
    for (const std::string& line : Wrap(Clean(PlainText(answer_.reason)), width_ - 2)) {
      head.push_back("  " + line);
    }
    SummaryLines parts = options_.by == By::kPhase && !view_.has_step_parts
                             ? SummaryLines()
                             : PartsBlock(view_, options_).Lines();
    SummaryLines findings = FindingsBlock(view_, options_).Lines();
    SummaryLines ruled_out = RuledOutBlock(view_, options_).Lines();
    SummaryLines not_known = NotKnownBlock(view_, options_).Lines();
    SummaryLines footer = Footer();
    // The table takes what is left: heading, rows, others, what has no name, total, blank lines.
    const size_t blanks =
        2 + (parts.empty() ? 0 : 1) + (findings.empty() ? 0 : 1) + (not_known.empty() ? 0 : 1);
    size_t used = head.size() + parts.size() + findings.size() + not_known.size() + footer.size() +
                  blanks + 4;
    used += ruled_out.size();
    // If the user requests a table, its rows have priority over other blocks.
    const size_t wanted = options_.rows > 0                                     ? options_.rows
                          : options_.by == By::kOp || options_.by == By::kPhase ? 0
                                                                                : kMaxRequestedRows;
    for (SummaryLines* block : {&ruled_out, &not_known}) {
      if (block->empty() || used + wanted <= kMaxSummaryLines) continue;
      used -= block->size() + (block == &not_known ? 1 : 0);
      block->clear();
    }
    while (!ruled_out.empty() && used + kMinTableRows > kMaxSummaryLines) {
      // By whole entries: half of one is a riddle.
      while (ruled_out.back().starts_with(' ')) {
        ruled_out.pop_back();
        --used;
      }
      ruled_out.pop_back();
      --used;
    }
    AppendLines(findings, std::move(ruled_out));
    const bool letters = options_.by == By::kOp && !view_.ops.empty() && view_.filter.empty() &&
                         used + kMinTableRows + 1 < kMaxSummaryLines;
    if (letters) ++used;
    size_t rows = used + kMinTableRows < kMaxSummaryLines ? kMaxSummaryLines - used : kMinTableRows;
    if (options_.rows > 0) rows = std::min(rows, options_.rows);
    SummaryLines table = Table(rows);
    if (letters) table.push_back(Letters());
    if (view_.run_coverage.activities == 0) table.clear();  // The first sentence reports this.

    SummaryLines lines = std::move(head);
    for (SummaryLines* block : {&parts, &findings, &not_known, &table, &footer}) {
      if (block->empty()) continue;
      lines.emplace_back();
      AppendLines(lines, std::move(*block));
    }
    if (lines.size() > kMaxSummaryLines) lines.resize(kMaxSummaryLines);
    return Text(lines);
  }

 private:
  static std::string Text(const SummaryLines& lines) {
    std::string out;
    for (const std::string& line : lines) out += line + "\n";
    return out;
  }

  SummaryLines Table(size_t rows) const {
    // If no time has an instruction, recorded names are more useful than one line "none".
    const By by = options_.by == By::kOp && view_.ops.empty() ? By::kKernel : options_.by;
    const RunView& of = options_.table != nullptr ? *options_.table : view_;
    return MakeSummaryTable(of, by, rows, width_).Lines(width_, options_.ascii);
  }

  // In a merged job the first lines name the rank that others wait for, and then the ranks on a
  // step's path.
  SummaryLines Job() const {
    SummaryLines lines;
    for (const auto& [key, value] : view_.info) {
      if (key != "job" && key != "job_path") continue;
      const std::string text = (key == "job" ? "Job: " : "") + value + ".";
      for (const std::string& line : Wrap(Clean(text), width_ - 2)) {
        lines.push_back("  " + (key == "job" ? Bold(line) : line));
      }
    }
    return lines;
  }

  // The meaning of the letters in column P.
  std::string Letters() const {
    SummaryLines letters;
    for (const model::Phase phase : kPhaseOrder) {
      if (view_.phases[static_cast<size_t>(phase)] == 0) continue;
      letters.push_back(fmt::format("{} {}", PhaseLetter(phase), PhaseWords(phase)));
    }
    letters.insert(letters.begin(), "P:");
    return Fields(letters);
  }

  SummaryLines Footer() const {
    const std::string file = ShellWord(view_.path);
    SummaryLines fields{"xlatrace report " + file};
    const RunView& of = options_.table != nullptr ? *options_.table : view_;
    if (options_.by == By::kOp && !of.ops.empty()) {
      // The one whose row is first.
      const std::string& first = of.sorted_otherwise ? of.ops[0].handle : FoldOps(of)[0].op->handle;
      fields.push_back("xlatrace show " + first + " " + file);
    }
    if (options_.by == By::kOp && !view_.ops.empty()) {
      fields.push_back("xlatrace summary --by layer " + file);
    } else if (options_.by == By::kOp && !view_.kernels.empty()) {
      fields.push_back("xlatrace show k1 " + file);
    }
    fields.push_back("xlatrace summary --format json " + file);
    std::string line;
    for (const std::string& field : fields) {
      const std::string safe = Clean(field);
      if (DisplayWidth(line) + 5 + DisplayWidth(safe) > width_) continue;
      line += (line.empty() ? "" : "  |  ") + safe;
    }
    if (line.empty()) line = "xlatrace report RUN.db  |  xlatrace summary --help";
    return {line};
  }

  AnswerText answer_;
};

}  // namespace

std::string SummaryText(const RunView& view, const SummaryOptions& options) {
  return Summary(view, options).Make();
}

}  // namespace xlatrace::report
