// SPDX-License-Identifier: Apache-2.0

// Launches without a position in thunk order: graph-level rows without neighbours, and kernels of
// libraries without a known owner.
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

// The run with the results of thunk order.
struct OrderedRun {
  const model::RunTables& run;
  const ModuleTable& modules;
  const ModuleJoin& join;
  std::span<const ClassifiedCase> judged;
  std::span<const uint32_t> case_of;                    // Per activity, index in `judged`.
  const std::vector<std::vector<uint32_t>>& sequences;  // Activities by device.
};

// Assigns graph-level rows without identifying neighbours to the one module whose launches do not
// occur otherwise. The module must be heavy enough to be the only candidate. Each row becomes an
// execution: `*execution` is resized to the number of activities, or left empty.
void LabelLoneGraphRows(const OrderedRun& ordered, LaunchCases* cases, OrderLabels* labels,
                        model::AttributionTables* tables, std::vector<uint32_t>* execution,
                        uint32_t* executions);

// For sources without marks: a library kernel without a label is not necessarily outside of XLA.
// Among kernels of a module outside of the run, it belongs to that module. Otherwise, any module
// with calls of such a library may have launched it.
void ExplainLibraryKernels(const OrderedRun& ordered, const std::vector<LaunchCase>& cases,
                           LabelTable* labels, model::AttributionTables* tables);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_LABEL_UNPLACED_LAUNCHES_H_
