// SPDX-License-Identifier: Apache-2.0

// The time tree of a run: all recorded time of each device, divided into parts (docs/schema.md,
// "Time tree"). There is one tree per device, one per process (mean over its devices) and one for
// the job (mean over all).
//
// Cost: about 60 ns per activity. Thread-safety: pure function.

#ifndef XLATRACE_ANALYSIS_TIME_TREE_TIME_TREE_H_
#define XLATRACE_ANALYSIS_TIME_TREE_TIME_TREE_H_

#include <vector>

#include "analysis/gap_cause.h"
#include "analysis/launch_queue.h"
#include "analysis/time_tree/gap_part.h"
#include "analysis/timeline.h"
#include "model/derived.h"
#include "model/gap_stack.h"
#include "model/run_tables.h"
#include "model/time_tree.h"

namespace xlatrace::analysis::time_tree {

struct Sources {
  const std::vector<ActivityClass>& classes;
  const std::vector<std::vector<uint32_t>>& by_device;  // ActivitiesByDevice.
  const std::vector<model::NamedCompile>& compiles;     // NamedCompilesOf.
  const HostEventLoader& host_events;  // May be empty. Then the host's activity is unknown.
  const HostCallOf& call_of;  // May be empty: launches are unknown, or clocks are not aligned.
};

struct TimeTree {
  std::vector<model::TimeTreeRow> rows;
  std::vector<model::GapStackRow> gap_stacks;  // Idle time by sampled stack.
  std::vector<GapPart> gap_parts;              // In no order.
};

// `collectives`: of all activities, for waiting and transfer. `steps`: by device, start.
TimeTree BuildTimeTree(const model::RunTables& run, const model::AttributionTables& attribution,
                       const std::vector<model::CollectiveRow>& collectives,
                       const std::vector<model::StepRow>& steps, const Sources& sources);

}  // namespace xlatrace::analysis::time_tree

#endif  // XLATRACE_ANALYSIS_TIME_TREE_TIME_TREE_H_
