// SPDX-License-Identifier: Apache-2.0

// The framework's marks of steps, with numbers that are unique within a process.

#ifndef XLATRACE_ANALYSIS_STEP_MARKS_H_
#define XLATRACE_ANALYSIS_STEP_MARKS_H_

#include <vector>

#include "model/run_tables.h"

namespace xlatrace::analysis {

struct StepMarks {
  std::vector<model::StepMark> marks;  // By start.
  // How often a step's number had already occurred. Causes: a loop that counts each epoch from 0,
  // or an evaluation in between. From the first repetition on, a step gets the previous number plus
  // 1, or its own number if that is larger. Each number is therefore one step.
  int64_t numbers_again = 0;
};

// Marks of one process. Numbers that are ids (negative, or beyond 31 bits) are counted from 0. If
// marks of several threads overlap and have the same number, the first one counts.
StepMarks MarksOf(const model::RunTables& run, model::Id process_id);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_STEP_MARKS_H_
