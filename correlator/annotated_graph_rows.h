// SPDX-License-Identifier: Apache-2.0

// Graph-level rows of a module whose schedule is not known: shared over what ran one by one where
// the source marked the same thunk, or the same module, in other executions.
//
// XLA:GPU runs the thunks of a command buffer one by one the first time (command_buffer_thunk.cc,
// the warm-up), and marks them again inside the command buffer's own range whenever it records or
// updates the graph. So what a row holds is, in this order:
//   1. what ran inside the same thunk in other executions, by the time that it took there;
//   2. what was only marked inside it, in equal parts;
//   3. where all rows of the module are of one thunk: what ran in executions without a row and in
//      none with one.
// Else the row keeps its module and the reason graph_without_body.
//
// Thread-safety: re-entrant. One pass over the activities where there are such rows.

#ifndef XLATRACE_CORRELATOR_ANNOTATED_GRAPH_ROWS_H_
#define XLATRACE_CORRELATOR_ANNOTATED_GRAPH_ROWS_H_

#include "correlator/module_table.h"
#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::correlator {

// Changes tables->label_of of graph-level rows and adds labels and their shares (inferred).
void ShareGraphRows(const model::RunTables& run, const ModuleTable& modules,
                    model::AttributionTables* tables);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_ANNOTATED_GRAPH_ROWS_H_
