// SPDX-License-Identifier: Apache-2.0

// The time tree that all outputs show. It has the rows of the view `time_tree` (docs/schema.md) of
// the job, or of the first process if run.db has no job rows.
//
// Times are integer nanoseconds. Thread-safety: plain data; one thread per RunDb.

#ifndef XLATRACE_REPORT_ANSWER_TIME_NODES_H_
#define XLATRACE_REPORT_ANSWER_TIME_NODES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "store/run_db.h"

namespace xlatrace::report {

struct TimeNode {
  int64_t node_id = 0;
  std::string kind, name, phase, layer_group, op_kind, source_file, handle;
  std::optional<int64_t> source_line, per_step_ns, p25_ns, p75_ns;
  int64_t ns = 0;
  std::vector<size_t> children;  // Positions; the largest first.
};

struct TimeNodes {
  std::vector<TimeNode> nodes;  // The first is the root; parents come before their children.
  std::string of;               // "mean over 8 devices"; empty: there is one device.
};

// "step" of "train.py(12): step" and of "$train.py:12 step".
std::string FunctionOf(const TimeNode& node);

// No nodes if run.db has no tree. An error if the tree is damaged.
Result<TimeNodes> LoadTimeNodes(store::RunDb& db);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_ANSWER_TIME_NODES_H_
