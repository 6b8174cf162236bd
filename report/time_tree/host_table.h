// SPDX-License-Identifier: Apache-2.0

// `summary --by host`: the functions and lines of host code that devices waited for, from the view
// `time_tree` (docs/schema.md, "Time tree").
//
// A row is a function with its idle time in steps and between steps, or in the whole run if the run
// has no steps. Time without a function has one row per kind. Thread-safety: one thread per RunDb.

#ifndef XLATRACE_REPORT_TIME_TREE_HOST_TABLE_H_
#define XLATRACE_REPORT_TIME_TREE_HOST_TABLE_H_

#include <string>

#include "base/error.h"
#include "report/time_tree/time_tree_text.h"
#include "store/run_db.h"

namespace xlatrace::report {

// Fails if run.db has no tree.
Result<std::string> HostTableText(store::RunDb& db, const TimeTreeOptions& options);

// {"schema_version", "of", "idle_ns", "rows": [{"function", "source_file", "source_line", "kind",
// "ns", "ns_per_step", "pct"}]}. `kind` is that of most of the time, `pct` the share of idle time.
Result<std::string> HostTableJson(store::RunDb& db, const TimeTreeOptions& options);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_TIME_TREE_HOST_TABLE_H_
