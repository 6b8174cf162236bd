// SPDX-License-Identifier: Apache-2.0

// Which of a rank's steps are which of the job's: recordings count from their own first step, which
// need not be the job's.
//
// Ranks that synchronise end their steps together, so that the lengths of steps, as they scatter
// from step to step, are the same on all of them. The shift counts at which they are, if nearly no
// other would do.
//
// Thread-safety: pure.

#ifndef XLATRACE_FLEET_STEP_NUMBERS_H_
#define XLATRACE_FLEET_STEP_NUMBERS_H_

#include <cstdint>
#include <map>

namespace xlatrace::fleet {

inline constexpr int64_t kFewestCommonSteps = 20;
inline constexpr double kFarBetter = 8;  // Than no shift, and than the middle one of all shifts.

// What to add to the numbers of `steps` (number to length in ns) to have those of `job`. 0 where
// the numbers fit, or nothing can be told.
int64_t StepShift(const std::map<int64_t, int64_t>& job, const std::map<int64_t, int64_t>& steps);

}  // namespace xlatrace::fleet

#endif  // XLATRACE_FLEET_STEP_NUMBERS_H_
