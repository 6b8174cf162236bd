// SPDX-License-Identifier: Apache-2.0

// The steps of a run (docs/schema.md, "Steps"): rows of the view `step`, and the step of each
// activity. All other figures of steps come from these rows.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_ANALYSIS_STEPS_H_
#define XLATRACE_ANALYSIS_STEPS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/intervals.h"
#include "analysis/launch_queue.h"
#include "analysis/timeline.h"
#include "model/derived.h"
#include "model/run_tables.h"
#include "model/time_tree.h"

namespace xlatrace::analysis {

struct Steps {
  std::vector<model::StepRow> rows;             // By device, start. device_ns, busy_ns still 0.
  std::vector<std::optional<int32_t>> step_of;  // Per activity.
  std::vector<model::RunStat> stats;

  std::vector<model::StepRow> OfDevice(model::Id device_id) const;
};

struct StepSources {
  const std::vector<ActivityClass>& classes;
  const std::vector<std::vector<uint32_t>>& by_device;  // ActivitiesByDevice.
  const std::vector<Intervals>& compiles;               // When each process compiled.
  const std::vector<model::NamedCompile>& named_compiles;
  const HostCallOf& call_of;  // May be empty: launches are unknown, or clocks are not aligned.
};

// Instructions must have their phases.
Steps FindSteps(const model::RunTables& run, const model::AttributionTables& attribution,
                const StepSources& sources);

// Roles of modules by steps. A heavy program that runs between steps is a helper. If a process then
// has no main program, programs of its steps become main if they train or are as heavy as others.
void SetRoles(const model::RunTables& run, const std::vector<model::StepRow>& steps,
              model::AttributionTables& attribution);

// Marks the steady steps whose mean is the typical step.
void SetTypical(const model::RunTables& run, std::vector<model::StepRow>& rows);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_STEPS_H_
