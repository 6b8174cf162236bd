// SPDX-License-Identifier: Apache-2.0

// The answer in a terminal, and the same figures for other programs: text, JSON, CSV, Markdown.
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
  kLayer,  // Repeated layers are folded.
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

// "op" -> By::kOp; nullopt for other words.
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
// One object with "schema_version": 1; later versions only add keys. Times are integer nanoseconds.
// `*_ns` are sums over the basis; `*_ns_per_step` are these sums divided by the steady steps of all
// devices.
std::string SummaryJson(const RunView& view, const SummaryOptions& options);
// The table of options.by as CSV (RFC 4180): one header line, all rows, unformatted integers. Text
// that a spreadsheet would read as a formula gets the prefix '.
std::string SummaryCsv(const RunView& view, const SummaryOptions& options);
// Verdict, facts, phases and the table, for a pull request or an issue.
std::string SummaryMarkdown(const RunView& view, const SummaryOptions& options);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_SUMMARY_SUMMARY_H_
