// SPDX-License-Identifier: Apache-2.0

// The loop of a process: the recurring work, and the beginnings of its periods (docs/schema.md,
// "Steps").
//
// Periods begin at the marks of the framework, or without marks at the runs of the anchor.
//
// The anchor is the program that contains optimizer work and runs at least three times. If there
// are several or none, it is the one with the most device time. If several with optimizer work
// alternate in a fixed ratio, it is the rarest. If none has optimizer work and programs take at
// most half of the device time, the anchor is the recurring unit with the most time. A unit is an
// op, a kernel or a program. If another unit alternates with it in a fixed ratio, the rarest of
// these is the anchor. More than half of the periods must have the same units. These must take more
// than half of the device time of all recurring units. Otherwise the unit with the next largest
// device time is tried. If each unit recurs within the loop, a sequence of 2, 4, 8, ... units is
// the anchor. Other units may vary (a branch, a loop with a varying number of iterations). Then the
// units in more than half of the periods must take more than three quarters of that time.
//
// A unit belongs to the step if more than half of the complete periods have it. A unit that occurs
// k times in a period counts as k units. Additional runs of a kernel in an evaluation are therefore
// other work.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_ANALYSIS_TIME_TREE_LOOP_H_
#define XLATRACE_ANALYSIS_TIME_TREE_LOOP_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/time_tree/work.h"
#include "model/events.h"

namespace xlatrace::analysis::time_tree {

// A process with fewer runs has no loop.
inline constexpr size_t kMinAnchorRuns = 3;

// The anchor among the programs of all devices of a process. Empty if no program recurs, or if
// programs take at most half of the device time.
std::optional<uint32_t> AnchorProgram(const std::vector<std::vector<Work>>& devices,
                                      const WorkNames& names);

// Did a program run more than once on a device?
bool AnyProgramRecurs(const std::vector<std::vector<Work>>& devices, const WorkNames& names);

// The `what` of the neighbours, without copies between them.
using Anchor = std::vector<uint32_t>;

// The anchor among all work.
std::optional<Anchor> AnchorOp(const std::vector<std::vector<Work>>& devices,
                               const WorkNames& names);

// Positions in `works` at which periods begin; each ends where the next begins, the last with the
// last work.
std::vector<size_t> PeriodsAt(const std::vector<Work>& works, const Anchor& anchor);

// One element per mark (by start): the first work that was launched in it or later.
std::vector<size_t> PeriodsAt(const std::vector<Work>& works,
                              const std::vector<model::StepMark>& marks);

// The usual number of each `what` in a period, by majority, and the `what` that every complete
// period has.
struct Pattern {
  std::vector<uint32_t> usual;  // Index: `what`.
  std::vector<bool> in_every;
};

Pattern PatternOf(const std::vector<Work>& works, const std::vector<size_t>& periods, size_t whats);

}  // namespace xlatrace::analysis::time_tree

#endif  // XLATRACE_ANALYSIS_TIME_TREE_LOOP_H_
