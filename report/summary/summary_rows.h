// SPDX-License-Identifier: Apache-2.0

// The table at the end of a summary in a terminal.

#ifndef XLATRACE_REPORT_SUMMARY_SUMMARY_ROWS_H_
#define XLATRACE_REPORT_SUMMARY_SUMMARY_ROWS_H_

#include <cstddef>

#include "report/run_view.h"
#include "report/summary/summary.h"
#include "report/text_table.h"

namespace xlatrace::report {

// The `rows` largest rows of a breakdown, then "N others", the row without a name, and the total.
// `width` determines the columns.
TextTable MakeSummaryTable(const RunView& view, By by, size_t rows, int width);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_SUMMARY_SUMMARY_ROWS_H_
