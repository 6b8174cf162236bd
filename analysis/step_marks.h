// SPDX-License-Identifier: Apache-2.0

// The framework's marks of steps, as numbers that tell the steps of a process apart.

#ifndef XLATRACE_ANALYSIS_STEP_MARKS_H_
#define XLATRACE_ANALYSIS_STEP_MARKS_H_

#include <vector>

#include "model/run_tables.h"

namespace xlatrace::analysis {

struct StepMarks {
  std::vector<model::StepMark> marks;  // By start.
  // How often a number came again that an earlier step had: a loop that counts each epoch from 0,
  // an evaluation between. From the first of these on a step has one more than the one before it,
  // or its own number where that is more: a number is one step.
  int64_t numbers_again = 0;
};

// Of one process. Numbers that are ids (negative, beyond 31 bits) are counted from 0. Where marks
// overlap several threads tell of the same steps: the first to say a number counts.
StepMarks MarksOf(const model::RunTables& run, model::Id process_id);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_STEP_MARKS_H_
