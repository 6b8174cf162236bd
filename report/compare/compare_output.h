// SPDX-License-Identifier: Apache-2.0

// A comparison as text, JSON, Markdown and CSV. All formats are made from the same rows
// (compare/comparison.h).
//
// JSON has "schema_version": 1, and later versions only add keys. Times are whole nanoseconds per
// step of one device, or totals if "steady" is false. Text has at most 45 lines.
//
// Thread-safety: pure.

#ifndef XLATRACE_REPORT_COMPARE_COMPARE_OUTPUT_H_
#define XLATRACE_REPORT_COMPARE_COMPARE_OUTPUT_H_

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "compare/breakdown.h"
#include "compare/changes.h"
#include "compare/comparison.h"
#include "compare/verdict.h"

namespace xlatrace::report {

struct ComparisonView {
  const compare::Run& base;
  const compare::Run& now;
  const compare::Comparison& comparison;
  const std::vector<compare::Change>& changes;
  const compare::Verdict& verdict;
};

struct CompareOptions {
  compare::By by = compare::By::kOp;
  int width = 100;
  bool ascii = false;
  size_t rows = 0;  // Rows of the table; 0: as many as fit.
};

// "Facts: launches 12 -> 9, compilations 1."; empty where none is known of both.
std::string FactsSentence(const compare::Run& base, const compare::Run& now);

std::string CompareText(const ComparisonView& view, const CompareOptions& options);
std::string CompareMarkdown(const ComparisonView& view, const CompareOptions& options);
std::string CompareCsv(const ComparisonView& view, const CompareOptions& options);
std::string CompareJson(const ComparisonView& view, const CompareOptions& options);
// The JSON output as an object, for the page.
nlohmann::ordered_json CompareJsonObject(const ComparisonView& view, const CompareOptions& options);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_COMPARE_COMPARE_OUTPUT_H_
