// SPDX-License-Identifier: Apache-2.0

// Thunk order: aligns the activities of an execution with the thunk program of its module.
//
// It is a second pass, because it uses the position of an activity among others. It runs per device
// (stretch_solver), in launch order. The order is by correlation number, within a CUDA graph by the
// creation of its nodes, and otherwise by start time.
//
//   1. Kernels with symbols in a module's program are anchors. sequence_alignment finds the module
//   of
//      each part of the sequence, and the thunk of each anchor. Order and launch dimensions resolve
//      reused kernels.
//   2. Activities between two anchors belong to the thunks between them: window_assignment.
//
// A repeated sequence of launches gets the alignment of its first occurrence.
//
// A label is exact if the alignment allows one instruction only, and if the module is named by the
// source or recognised (judge/module_recognition.h). A module is recognised by most of its required
// launches, or by a sufficiently long part of an execution. No other module of the process may
// explain them equally well. Other labels are inferred. Labels that are already exact stay; labels
// that thunk order replaces are kept as losers.
//
// Folders; each uses only those before it:
//
//   program/   thunk_program: launches of one execution of a module, in order
//   align/     launch_cases: candidates of each launch; sequence_alignment: modules and anchors
//   fill/      window_assignment: activities between two anchors
//   judge/     whether the module of an execution is certain, and a call is like others
//   label/     labels, their shares, and launches without a position
//
// The class `ExecutionSolver` uses these folders for one stretch of launches. The class
// `StretchSolver` divides a device's launches into stretches. The reasons for labels that are not
// exact are in doubt.h, and the limits in order_limits.h.
//
// Thread-safety: one thread per object.

#ifndef XLATRACE_CORRELATOR_THUNK_ORDER_THUNK_ORDER_EVIDENCE_H_
#define XLATRACE_CORRELATOR_THUNK_ORDER_THUNK_ORDER_EVIDENCE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "correlator/label_table.h"
#include "correlator/module_join.h"
#include "correlator/module_table.h"
#include "correlator/thunk_order/align/launch_cases.h"
#include "correlator/thunk_order/doubt.h"
#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::correlator {

struct ThunkOrderResult {
  // Per activity: number of its aligned execution; 0: none. Empty: no activity was aligned.
  std::vector<uint32_t> execution;
  uint32_t executions = 0;
};

// `case_of`: per activity, index in `cases`. Changes tables->label_of and adds labels and their
// shares. `doubts`: if not null, gets the reason per activity why thunk order is not more certain.
// It is kNone also for activities that did not need thunk order. It stays empty if no activity
// needed thunk order.
ThunkOrderResult ApplyThunkOrder(const model::RunTables& run, const ModuleTable& modules,
                                 const ModuleJoin& join, std::span<const ClassifiedCase> cases,
                                 std::span<const uint32_t> case_of, LabelTable* labels,
                                 model::AttributionTables* tables,
                                 std::vector<Doubt>* doubts = nullptr);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_THUNK_ORDER_EVIDENCE_H_
