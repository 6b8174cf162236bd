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
// with module and instruction 0 holds every activity without instruction, so that self_ns sums to
// device time. Without such activities the row is absent.
//
// `occurrences`: how often the instruction ran. A library call may launch several kernels per run.
// It counts once: per device, the launches of its most frequent kernel. Then min_ns and max_ns are
// of whole runs. If the launches do not divide evenly, each counts as one run. An activity within
// another activity of its instruction is part of that run (analysis/nested_runs.h).
// flops and bytes: XLA's figure of one run times occurrences. `steady`: per activity, whether it
// lies in a steady step.
std::vector<model::OpTimeRow> BuildOpTimes(const model::RunTables& run,
                                           const model::AttributionTables& attribution,
                                           const std::vector<bool>& steady,
                                           const LaunchOccupancies& occupancies);

// If the mean run of an op is at least this long, a run of 0 ns means that the profiler lost its
// end.
inline constexpr int64_t kMinMeanRunNs = 10'000;

// Adds a run stat with the number of runs of 0 ns of such ops (some TPU profiles). Sums of these
// ops are too small, and the next ops are too long. `rows`: of BuildOpTimes.
void CountRunsWithoutLength(const model::RunTables& run,
                            const model::AttributionTables& attribution,
                            const std::vector<model::OpTimeRow>& rows,
                            std::vector<model::RunStat>& stats);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_OP_TIME_H_
