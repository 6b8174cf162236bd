// SPDX-License-Identifier: Apache-2.0

// Thunk order: an execution's activities aligned with its module's thunk program.
//
// A second pass, because the place of an activity among others is what counts. On each device
// (stretch_solver), in launch order (correlation numbers; within a CUDA graph the order in which
// its nodes were made; where neither is known, start times):
//   1. kernels with symbols that a module's program has are anchors: sequence_alignment finds which
//      module ran where, and which thunk each anchor is; reuse of kernels is resolved by order and
//      launch dimensions;
//   2. what lies between two anchors belongs to the thunks between them: window_assignment.
// A sequence of launches that comes again has the alignment of the first time.
//
// Exact: the alignment allows one instruction only, and the module is told by the source or
// recognised (judge/module_recognition.h): by most of what it always launches, or by a part of an
// execution that is long enough, where no other module of the process explains that as well. Else
// inferred. Labels that are exact already stay; labels that order replaces are kept as losers.
//
// The folders, each of which uses those before it:
//   program/   what one execution of a module launches, in order: thunk_program.
//   align/     what each launch can be (launch_cases), and which module ran where: anchors.
//   fill/      what lies between two anchors: window_assignment.
//   judge/     whether an execution is known to be of its module, and a call is like others.
//   label/     the labels, their shares, and what no order has a place for.
// execution_solver asks them about one stretch of launches, stretch_solver cuts a device's launches
// into stretches; doubt.h says why an answer is not exact, order_limits.h where lines are drawn.
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
  // Per activity: number of the execution it was aligned with; 0: none. Empty: nothing was.
  std::vector<uint32_t> execution;
  uint32_t executions = 0;
};

// `case_of`: per activity, into `cases`. Changes tables->label_of and adds labels and their shares.
// `doubts`: where wanted, per activity why its place in the order says no more than it does (kNone
// for what order was not asked of, too); left empty where there was nothing to do.
ThunkOrderResult ApplyThunkOrder(const model::RunTables& run, const ModuleTable& modules,
                                 const ModuleJoin& join, std::span<const JudgedCase> cases,
                                 std::span<const uint32_t> case_of, LabelTable* labels,
                                 model::AttributionTables* tables,
                                 std::vector<Doubt>* doubts = nullptr);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_THUNK_ORDER_EVIDENCE_H_
