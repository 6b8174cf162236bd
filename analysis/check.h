// SPDX-License-Identifier: Apache-2.0

// What must hold of every analysed run; used by tests, golden cases and `--strict` builds alike.

#ifndef XLATRACE_ANALYSIS_CHECK_H_
#define XLATRACE_ANALYSIS_CHECK_H_

#include <string>
#include <vector>

#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::analysis {

// One sentence per broken promise, empty when all hold:
// - shares of an instruction sum to a million;
// - op_time and scope_time sum to device time; phase_time does on each device, and within each step
//   to the step's device_ns;
// - the parts of a step sum to its duration, and no part is negative;
// - busy + idle = the device's span; busy = compute + exposed collective + exposed copy; exposed is
//   at most the whole; gaps and small gaps sum to idle;
// - wasted and expected time of an op are within its time, utilisation and occupancy within 100 %;
//   a collective waits at most as long as it runs;
// - steps of a device are in order and do not overlap; step_of names steps that exist.
// Attribution columns are taken as sound (the correlator checks them).
std::vector<std::string> CheckAnalysis(const model::RunTables& run,
                                       const model::AttributionTables& attribution,
                                       const model::AnalysisTables& analysis);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_CHECK_H_
