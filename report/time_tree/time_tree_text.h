// SPDX-License-Identifier: Apache-2.0

// `summary --by tree`: all recorded time by part, from the view `time_tree` (docs/schema.md, "Time
// tree").
//
// The tree is that of the job, if run.db has one, or else the mean over the devices of the first
// process. Children follow their parent, the largest first. Thread-safety: one thread per RunDb.

#ifndef XLATRACE_REPORT_TIME_TREE_TIME_TREE_TEXT_H_
#define XLATRACE_REPORT_TIME_TREE_TIME_TREE_TEXT_H_

#include <cstddef>
#include <string>

#include "base/error.h"
#include "store/run_db.h"

namespace xlatrace::report {

struct TimeTreeOptions {
  int width = 100;  // Columns of the terminal.
  bool ascii = false;
  size_t rows = 0;  // Nodes of the text; 0: 30. Smaller nodes are summed below their parent.
};

// Fails if run.db has no tree.
Result<std::string> TimeTreeText(store::RunDb& db, const TimeTreeOptions& options);

// All nodes of that tree with their children: {"schema_version", "tree": {"kind", "name", "ns",
// "per_step_ns", "p25_ns", "p75_ns", "handle", "children"}}. Times are in nanoseconds.
Result<std::string> TimeTreeJson(store::RunDb& db);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_TIME_TREE_TIME_TREE_TEXT_H_
