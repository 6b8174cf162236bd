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
// with module and instruction 0 has all activities without an instruction, so that self_ns sums to
// device time. Without such activities the row is absent.
//
// `occurrences`: number of runs of the instruction. A library call may launch several kernels per
// run and counts once. The number of runs is then, per device, the number of launches of its most
// frequent kernel. min_ns and max_ns are of whole runs. If the launches do not divide evenly, each
// counts as one run. An activity within another activity of its instruction is part of that run
// (analysis/nested_runs.h). flops and bytes: XLA's figure of one run times occurrences. `steady`:
// per activity, true if it lies in a steady step.
std::vector<model::OpTimeRow> BuildOpTimes(const model::RunTables& run,
                                           const model::AttributionTables& attribution,
                                           const std::vector<bool>& steady,
                                           const LaunchOccupancies& occupancies);

// If the mean run of an op has at least this length, a run of 0 ns means that the profiler lost its
// end.
inline constexpr int64_t kMinMeanRunNs = 10'000;

// Adds a run stat with the number of runs of 0 ns of such ops (some TPU profiles). Sums of these
// ops are too small, and those of the next ops are too large. `rows`: result of BuildOpTimes.
void CountRunsWithoutLength(const model::RunTables& run,
                            const model::AttributionTables& attribution,
                            const std::vector<model::OpTimeRow>& rows,
                            std::vector<model::RunStat>& stats);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_OP_TIME_H_
