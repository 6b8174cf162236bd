// SPDX-License-Identifier: Apache-2.0

// The work of each rank of a job per step, for the question which rank is late (late_rank.h).
//
// Thread-safety: pure functions.

#ifndef XLATRACE_ANALYSIS_RANK_WORK_H_
#define XLATRACE_ANALYSIS_RANK_WORK_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/gap_cause.h"
#include "analysis/launch_queue.h"
#include "analysis/timeline.h"
#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::analysis {

struct RankSources {
  const std::vector<ActivityClass>& classes;
  const std::vector<std::vector<uint32_t>>& by_device;  // ActivitiesByDevice.
  const std::vector<model::CollectiveRow>& collectives;
  const std::vector<model::StepRow>& steps;
  const std::vector<std::optional<int32_t>>& step_of;  // By activity.
  const HostEventLoader& host_events;                  // May be empty.
  const HostCallOf& call_of;                           // May be empty.
};

// The late rank of the job. Empty for a run of one device, or if no rank is late by at least
// `kMinLateShare` of the step.
std::optional<model::LateRankRow> FindLateRank(const model::RunTables& run,
                                               const RankSources& sources);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_RANK_WORK_H_
