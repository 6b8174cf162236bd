// SPDX-License-Identifier: Apache-2.0

// Divides graph-level rows of modules with unknown schedule. It uses executions in which the source
// marked the same thunk or module and the work ran one by one.
//
// XLA:GPU runs the thunks of a command buffer one by one the first time (command_buffer_thunk.cc,
// the warm-up). It marks them again inside the command buffer's own range whenever it records or
// updates the graph. The first of these rules that applies gives the content of a row:
//
//   1. the instructions that ran inside the same thunk in other executions, by their time there
//   2. the instructions that were only marked inside it, in equal parts
//   3. if all rows of the module belong to one thunk: the instructions that ran in executions
//   without
//      a row and in none with one
//
// Otherwise the row keeps its module and the reason graph_without_body.
//
// Thread-safety: re-entrant. One pass over the activities if there are such rows.

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
