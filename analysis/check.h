// SPDX-License-Identifier: Apache-2.0

// Invariants of every analysed run; checked by tests, golden cases and `--strict` builds.

#ifndef XLATRACE_ANALYSIS_CHECK_H_
#define XLATRACE_ANALYSIS_CHECK_H_

#include <string>
#include <vector>

#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::analysis {

// Returns one sentence per broken invariant. Invariants:
// - Shares of an instruction sum to a million.
// - Tables op_time and scope_time sum to device time. phase_time does so on each device, and within
//   each step to the step's device_ns.
// - The parts of a step sum to its duration, and no part is negative.
// - The sum busy + idle = the device's span. busy = compute + exposed collective + exposed copy.
// Exposed
//   time is at most the whole. Gaps and small gaps sum to idle.
// - Wasted and expected time of an op are at most its time. Utilisation and occupancy are at most
//   100 %. A collective waits at most as long as it runs.
// - Steps of a device are in order and do not overlap. `step_of` contains only existing steps.
// Attribution columns are assumed to be correct (the correlator checks them).
std::vector<std::string> CheckAnalysis(const model::RunTables& run,
                                       const model::AttributionTables& attribution,
                                       const model::AnalysisTables& analysis);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_CHECK_H_
