// SPDX-License-Identifier: Apache-2.0

// Begin and end of the steps of a device, the steady steps, and the duration of the typical step
// (docs/schema.md, "Steps").
//
// A step starts with the first work, in launch order and without copies, that every complete period
// has. It ends at the start of the next step. If other work or the end of a window or run follows,
// it ends with its own last work and has no duration. Other work in the middle of a period ends the
// step only if it takes longer than the work of the step that follows it.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_ANALYSIS_TIME_TREE_STEP_SPANS_H_
#define XLATRACE_ANALYSIS_TIME_TREE_STEP_SPANS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "analysis/intervals.h"
#include "analysis/time_tree/loop.h"
#include "analysis/time_tree/work.h"

namespace xlatrace::analysis::time_tree {

struct StepSpan {
  int64_t number = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  bool has_duration = false;  // The next step starts where it ends.
  bool first_execution = false;
  bool steady = false;
};

// `numbers`: of each period. `windows`: recorded intervals of the process. `cut_begin_works`:
// WorksOfCutBegin.
std::vector<StepSpan> SpansOf(const std::vector<Work>& works, const std::vector<size_t>& periods,
                              const Pattern& pattern, const std::vector<int64_t>& numbers,
                              const Intervals& windows, size_t cut_begin_works);

// The steps of a process over its devices.
struct StepFigures {
  std::vector<int64_t> steady;  // Numbers, ascending.
  std::vector<int64_t> kept;    // Steady steps that count in the mean of the typical step.
  std::vector<int64_t> paused;  // Steady steps longer than p75 + 3 (p75 - p25).
  int64_t typical_ns = 0;       // Mean of the steps in `kept`, rounded down.
  int64_t p25_ns = 0;           // Quartiles of the steady steps.
  int64_t p75_ns = 0;

  bool known() const { return steady.size() >= 2; }
};

// A step is steady only if all devices that have it are steady in it.
StepFigures FiguresOf(const std::vector<std::vector<StepSpan>>& devices);

// Linear between the sorted values: rank (n - 1) * quarter / 4.
int64_t Quartile(const std::vector<int64_t>& sorted, int quarter);

}  // namespace xlatrace::analysis::time_tree

#endif  // XLATRACE_ANALYSIS_TIME_TREE_STEP_SPANS_H_
