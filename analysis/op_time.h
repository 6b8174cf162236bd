// SPDX-License-Identifier: Apache-2.0

// Time of every instruction over all devices and the whole run (docs/schema.md, op_time).

#ifndef XLATRACE_ANALYSIS_OP_TIME_H_
#define XLATRACE_ANALYSIS_OP_TIME_H_

#include <vector>

#include "analysis/launch_occupancy.h"
#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::analysis {

// Rows by descending self time (then by instruction), so that position + 1 is the handle. One row
// with module and instruction 0 holds every activity that has no instruction, so that self_ns sums
// to device time; it is absent when there is none.
//
// `occurrences`: how often the instruction ran. One that launches several kernels per run (a
// library call) counts once: per device, the launches of its most frequent kernel; min_ns and
// max_ns are then of whole runs. Where the launches do not divide evenly each counts as one. What
// lies within another activity of its instruction is part of that run (analysis/nested_runs.h).
// flops and bytes: XLA's figure of one run times occurrences. `steady`: per activity, whether it
// lies in a steady step.
std::vector<model::OpTimeRow> BuildOpTimes(const model::RunTables& run,
                                           const model::AttributionTables& attribution,
                                           const std::vector<bool>& steady,
                                           const LaunchOccupancies& occupancies);

// An op that takes so long on average has no run of no length: the profiler lost its end.
inline constexpr int64_t kLeastOfLengthNs = 10'000;

// Says in `stats` how many recorded runs of such ops have none (some TPU profiles): sums of these
// ops are too small, and what comes next is too long. `rows`: of BuildOpTimes.
void CountRunsWithoutLength(const model::RunTables& run,
                            const model::AttributionTables& attribution,
                            const std::vector<model::OpTimeRow>& rows,
                            std::vector<model::RunStat>& stats);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_OP_TIME_H_
