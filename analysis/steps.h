// SPDX-License-Identifier: Apache-2.0

// Finds the steps of a run (docs/schema.md, "Steps").
//
// What makes a step, per process:
// 1. Marked: the process has StepMarks. The main executions of a device belong to the marks one to
//    one where there are as many of them as marks (launches run ahead of the host, so times may
//    not match), else to the last mark that started before them; what started before the first
//    mark is in no step. On a device without main executions a step is what the host launched
//    while the mark lasted: a framework's annotation is host time, and its step ends later on the
//    device. Where launches are not known, the marks' own times.
// 2. Counted: every execution of a main module starts a step, numbered from 0. Where no main module
//    contains optimizer work but another module does and runs in between (gradient accumulation, or
//    a separately compiled update), a step lasts until that module has run. Where several modules
//    are as heavy (ModuleFacts::beside_others) and one trains, they are a step if they run in turn;
//    else there is none: each is told beside the others.
// 3. Counted by ops (analysis/op_steps.h) where a framework runs at least a fifth of the device's
//    work outside of XLA,
//    and its ops recur.
// A step of a device lasts from the start of its first main execution to that of the next step; the
// last one to the end of its last activity.
//
// Steps agree (analysis/step_agreement.h) in the device time of their main executions (on a CPU,
// where other programs take its time, the middle half of them does where one trains or there are
// twenty and more), and where no module trains in their length, too, of which they run at least two
// fifths: calls of a function that a script makes now and then are no steps. Counted steps that do
// not agree are none; marked ones stay, and those of a training on a CPU, whose time other programs
// take, and none is steady.
//
// Steady, for a whole step on all devices of the process: no compilation during it, its main
// executions complete, all of it recorded (model/windows.h), not warm-up by device time or length,
// and no more than 1.5 times the usual device time in it (an evaluation that ran between). The
// first and the last one seen count where it is known that they are whole; the last one only if it
// is not much shorter than the others, because what follows it is not seen. Counted steps need
// three executions.

#ifndef XLATRACE_ANALYSIS_STEPS_H_
#define XLATRACE_ANALYSIS_STEPS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/intervals.h"
#include "analysis/launch_queue.h"
#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::analysis {

struct Steps {
  std::vector<model::StepRow> rows;             // By device, start. device_ns, busy_ns still 0.
  std::vector<std::optional<int32_t>> step_of;  // Per activity.
  std::vector<model::RunStat> stats;

  std::vector<model::StepRow> OfDevice(model::Id device_id) const;
};

// Makes modules that are `beside_others` main where they train and run in turn, and the one that
// trains where another only evaluates now and then, however heavy it is. Instructions must have
// their phases.
void PromoteTurns(const model::RunTables& run, model::AttributionTables& attribution);

// `compiles`: per process (element k is process_id k + 1), when it compiled; may be empty.
// `call_of` may be empty. Instructions must have their phases.
Steps FindSteps(const model::RunTables& run, const model::AttributionTables& attribution,
                const std::vector<Intervals>& compiles, const HostCallOf& call_of = {});

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_STEPS_H_
