// SPDX-License-Identifier: Apache-2.0

// What order itself has no place for: graph-level rows with nothing around them, and kernels of
// libraries of which nobody says whose they are.
//
// Thread-safety: pure.

#ifndef XLATRACE_CORRELATOR_THUNK_ORDER_LABEL_UNPLACED_LAUNCHES_H_
#define XLATRACE_CORRELATOR_THUNK_ORDER_LABEL_UNPLACED_LAUNCHES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "correlator/label_table.h"
#include "correlator/module_join.h"
#include "correlator/module_table.h"
#include "correlator/thunk_order/align/launch_cases.h"
#include "correlator/thunk_order/label/order_labels.h"
#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::correlator {

// The run as thunk order has looked at it.
struct OrderedRun {
  const model::RunTables& run;
  const ModuleTable& modules;
  const ModuleJoin& join;
  std::span<const JudgedCase> judged;
  std::span<const uint32_t> case_of;                    // Per activity, into `judged`.
  const std::vector<std::vector<uint32_t>>& sequences;  // Activities by device.
};

// Graph-level rows with nothing around them that tells the module are taken for the one module's
// whose launches are not seen otherwise, where it is heavy enough to be the only one in question.
// Each is an execution: `*execution` is made as long as the activities, or left empty.
void LabelLoneGraphRows(const OrderedRun& ordered, LaunchCases* cases, OrderLabels* labels,
                        model::AttributionTables* tables, std::vector<uint32_t>* execution,
                        uint32_t* executions);

// Where a source marks nothing, a library's kernel that no order told is not outside of XLA for
// that: among kernels of a module that the run does not hold it is that module's as well, else any
// module that calls such a library may have launched it.
void ExplainLibraryKernels(const OrderedRun& ordered, const std::vector<LaunchCase>& cases,
                           LabelTable* labels, model::AttributionTables* tables);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_LABEL_UNPLACED_LAUNCHES_H_
