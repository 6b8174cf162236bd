// SPDX-License-Identifier: Apache-2.0

// The answer in a terminal, and the same figures for programs: text, JSON, CSV, Markdown.
//
// Thread-safety: re-entrant; no I/O.

#ifndef XLATRACE_REPORT_SUMMARY_SUMMARY_H_
#define XLATRACE_REPORT_SUMMARY_SUMMARY_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "report/run_view.h"

namespace xlatrace::report {

enum class By {
  kOp,
  kPhase,
  kLayer,  // Repeated ones folded.
  kKernel,
  kSource,
  kStack,  // The tree of the user's call stacks.
  kScope,  // op_name without the primitive.
  kOpKind,
  kOrigin,
  kModule,
  kStep,
  kDevice,
  kRank,
};

// "op" -> By::kOp; nullopt when it is none of the words.
std::optional<By> ByFromText(std::string_view text);
// All words, in the order of the enum.
std::span<const std::string_view> ByTexts();

// How rows of ops are ordered.
enum class Sort { kTime, kCalls, kAverage, kWaste };
std::optional<Sort> SortFromText(std::string_view text);

struct SummaryOptions {
  By by = By::kOp;
  int width = 100;     // Columns of text output; from 60 on no line is wider.
  bool ascii = false;  // No block characters.
  bool color = false;  // Escape sequences (bold, and the colours of phases).
  // A part of the run for the table (summary_slices.h); borrowed.
  const RunView* table = nullptr;
  size_t rows = 0;  // Rows of the table; 0: text fills 45 lines, Markdown 20, CSV and JSON all.
  bool only_table = false;  // Text without sentences, parts of a step and findings.
};

// At most 45 lines, each at most `width` columns; ends in a newline.
std::string SummaryText(const RunView& view, const SummaryOptions& options);
// One object with "schema_version": 1; keys only get more. Times are integer nanoseconds:
// `*_ns` sums over the basis, `*_ns_per_step` that divided by the steady steps of all devices.
std::string SummaryJson(const RunView& view, const SummaryOptions& options);
// The table of options.by with one header line, all rows, raw integers, RFC 4180. Text that a
// spreadsheet would take for a formula gets a leading '.
std::string SummaryCsv(const RunView& view, const SummaryOptions& options);
// Verdict, facts, phases and the table, for a pull request or an issue.
std::string SummaryMarkdown(const RunView& view, const SummaryOptions& options);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_SUMMARY_SUMMARY_H_
