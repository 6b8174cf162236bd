// SPDX-License-Identifier: Apache-2.0

// Maps the steps of a rank to the steps of the job. Recordings count from their own first step,
// which may differ from the job's.
//
// Ranks that synchronise end their steps together, so the lengths of steps scatter equally on all
// ranks. The shift with equal lengths is used, if nearly no other shift fits.
//
// Thread-safety: pure.

#ifndef XLATRACE_FLEET_STEP_NUMBERS_H_
#define XLATRACE_FLEET_STEP_NUMBERS_H_

#include <cstdint>
#include <map>

namespace xlatrace::fleet {

inline constexpr int64_t kMinCommonSteps = 20;
inline constexpr double kMinShiftResidualRatio = 8;  // Minimum ratio of residuals: to no shift, and
                                                     // to the median of all shifts.

// Returns the difference of the numbers in `job` and `steps` (number to length in ns). 0 if the
// numbers fit or no shift is certain.
int64_t StepShift(const std::map<int64_t, int64_t>& job, const std::map<int64_t, int64_t>& steps);

}  // namespace xlatrace::fleet

#endif  // XLATRACE_FLEET_STEP_NUMBERS_H_
