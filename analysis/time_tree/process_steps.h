// SPDX-License-Identifier: Apache-2.0

// The steps of one process on all of its devices, with the same numbers on each.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_ANALYSIS_TIME_TREE_PROCESS_STEPS_H_
#define XLATRACE_ANALYSIS_TIME_TREE_PROCESS_STEPS_H_

#include <cstdint>
#include <vector>

#include "analysis/intervals.h"
#include "analysis/launch_queue.h"
#include "analysis/time_tree/step_spans.h"
#include "analysis/timeline.h"
#include "model/derived.h"
#include "model/run_tables.h"
#include "model/time_tree.h"

namespace xlatrace::analysis::time_tree {

struct ProcessSteps {
  std::vector<model::Id> devices;
  std::vector<std::vector<StepSpan>> spans;  // Per element of `devices`, by start.
  std::vector<int64_t> numbers;              // All steps but the first execution, ascending.
  StepFigures figures;
  bool marked = false;
  int64_t numbers_again = 0;  // How often the number of a mark was repeated.
};

// The steps of a process from rows of the view `step` (by device, start).
ProcessSteps StepsFromRows(const model::RunTables& run, const std::vector<model::StepRow>& rows,
                           model::Id process_id);

// `by_device`: result of ActivitiesByDevice. `windows`: recorded intervals of the process.
// `compiles`: intervals in which it compiled.
ProcessSteps FindProcessSteps(const model::RunTables& run,
                              const model::AttributionTables& attribution,
                              const std::vector<ActivityClass>& classes,
                              const std::vector<std::vector<uint32_t>>& by_device,
                              const HostCallOf& call_of, model::Id process_id,
                              const Intervals& windows, const Intervals& compiles,
                              const std::vector<model::NamedCompile>& named_compiles);

}  // namespace xlatrace::analysis::time_tree

#endif  // XLATRACE_ANALYSIS_TIME_TREE_PROCESS_STEPS_H_
