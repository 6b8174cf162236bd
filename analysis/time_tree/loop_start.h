// SPDX-License-Identifier: Apache-2.0

// The place in a period of the anchor at which the step begins. Any work of a loop gives the same
// period, but other work (an evaluation, a checkpoint) lies between steps. The step therefore
// begins after the place at which other work occurs. Without other work, the step begins at the
// launch before which the host took longest, because a loop's own code lies between its iterations.
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
  // Number of works with this `what` between it and the anchor of the next period.
  size_t same_after = 0;
};

// The common start of all devices of a process: a step of a process is the same work on each
// device. `periods` (PeriodsAt an anchor): by device. nullopt: steps start at the anchor.
std::optional<StepStart> StepStartOf(const std::vector<std::vector<Work>>& devices,
                                     const std::vector<std::vector<size_t>>& periods);

// Moves each of a device's `periods` back to the first work of its step. Moves none if no two
// periods have the same works, or if these contain no such work.
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
