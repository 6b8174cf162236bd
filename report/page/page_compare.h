// SPDX-License-Identifier: Apache-2.0

// The comparison of `report --base` as tables of the page. Rows, changes, sums and sentences are
// those of `xlatrace diff` (compare/comparison.h), so the app only shows them.
//
// Thread-safety: one thread.

#ifndef XLATRACE_REPORT_PAGE_PAGE_COMPARE_H_
#define XLATRACE_REPORT_PAGE_PAGE_COMPARE_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

#include "compare/changes.h"
#include "compare/comparison.h"
#include "compare/verdict.h"
#include "report/page/page_blocks.h"

namespace xlatrace::report {

// Rows of the tables `ops` and `base_ops` for an op of a run: one row per process.
using PageRowsOf = std::function<std::vector<size_t>(const compare::Op&)>;

struct PageComparison {
  const compare::Run& base;
  const compare::Run& now;
  const compare::Comparison& comparison;
  const std::vector<compare::Change>& changes;
  const compare::Verdict& verdict;
  PageRowsOf base_rows, now_rows;
};

// Writes `compare_rows`, `compare_ops`, `compare_changes`, `compare_change_rows`, `compare_groups`
// (docs/development/page-data.md) and returns their entries in the page's facts.
nlohmann::ordered_json WriteCompareTables(const PageComparison& compared, PageBlocks& blocks);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_PAGE_PAGE_COMPARE_H_
