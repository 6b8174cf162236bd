// SPDX-License-Identifier: Apache-2.0

// The table of `summary --by`: all rows and raw values, for JSON, CSV and Markdown.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_REPORT_BREAKDOWN_H_
#define XLATRACE_REPORT_BREAKDOWN_H_

#include <string>
#include <vector>

#include "report/run_view.h"
#include "report/summary/summary.h"
#include "store/run_db.h"

namespace xlatrace::report {

struct Breakdown {
  std::string name;                  // "op"
  std::vector<std::string> columns;  // The last three columns are always ns, ns_per_step and pct.
  // Rows by descending time; they sum to device time. A row without a name has the time that no
  // name could be found for.
  std::vector<std::vector<store::Cell>> rows;
};

Breakdown MakeBreakdown(const RunView& view, By by);

std::string_view Text(By by);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_BREAKDOWN_H_
