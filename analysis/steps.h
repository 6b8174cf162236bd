// Finds the steps of a run (RUNDB, Steps).
//
// What makes a step, per process:
// 1. Marked: the process has StepMarks. The main executions of a device belong to the marks one to
//    one where there are as many of them as marks (launches run ahead of the host, so times may
//    not match), else to the last mark that started before them. A device without main executions
//    takes the marks' own times.
// 2. Counted: every execution of a main module starts a step, numbered from 0. Where no main module
//    contains optimizer work but another module does and runs in between (gradient accumulation, or
//    a separately compiled update), a step lasts until that module has run.
// A step of a device lasts from the start of its first main execution to that of the next step; the
// last one to the end of its last activity.
//
// Steady, for a whole step on all devices of the process: not the first and not the last one seen
// (their beginning and end are not known), no compilation during it, its main executions complete,
// and after warm-up: leading steps longer than 1.5 times the median of the rest are dropped. So at
// least three steps are needed.

#ifndef XLATRACE_ANALYSIS_STEPS_H_
#define XLATRACE_ANALYSIS_STEPS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/intervals.h"
#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::analysis {

struct Steps {
  std::vector<model::StepRow> rows;             // By device, start. device_ns, busy_ns still 0.
  std::vector<std::optional<int32_t>> step_of;  // Per activity.
  std::vector<model::RunStat> stats;

  std::vector<model::StepRow> OfDevice(model::Id device_id) const;
};

// `compiles`: per process (element k is process_id k + 1), when it compiled; may be empty.
// Instructions must have their phases (for gradient accumulation).
Steps FindSteps(const model::RunTables& run, const model::AttributionTables& attribution,
                const std::vector<Intervals>& compiles);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_STEPS_H_
