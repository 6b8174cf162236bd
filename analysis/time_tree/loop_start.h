// SPDX-License-Identifier: Apache-2.0

// The place in a period of the anchor at which the step begins. Any work of a loop gives the same
// period, but other work (an evaluation, a checkpoint) lies between steps. So the step begins
// behind the place at which other work occurs. If there is no other work, the step begins where the
// host took longest before a launch: a loop's own code lies between its iterations.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_ANALYSIS_TIME_TREE_LOOP_START_H_
#define XLATRACE_ANALYSIS_TIME_TREE_LOOP_START_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/time_tree/work.h"

namespace xlatrace::analysis::time_tree {

// The first work of a step. A step can have several works with this `what`.
struct StepStart {
  uint32_t what = 0;
  size_t same_after = 0;  // Works with this `what` between it and the anchor of the next period.
};

// The start that all devices of a process share: steps of a process are the same work on each of
// its devices. `periods` (PeriodsAt an anchor): by device. Nothing: steps start at the anchor.
std::optional<StepStart> StepStartOf(const std::vector<std::vector<Work>>& devices,
                                     const std::vector<std::vector<size_t>>& periods);

// Moves each of `periods` of a device back to the first work of its step. Nothing moves if no two
// periods have the same works, or if these have no such work.
std::vector<size_t> MovedToStart(const std::vector<Work>& works, std::vector<size_t> periods,
                                 const StepStart& start);

// The recording may cut the beginning of a step. Then the first works are the last works of a
// usual step. Returns their number.
size_t WorksOfCutBegin(const std::vector<Work>& works, const std::vector<size_t>& periods);

// The recording may cut a step before its anchor. Then the last works are the first works of a
// usual step. Adds this step.
std::vector<size_t> WithCutEnd(const std::vector<Work>& works, std::vector<size_t> periods);

}  // namespace xlatrace::analysis::time_tree

#endif  // XLATRACE_ANALYSIS_TIME_TREE_LOOP_START_H_
