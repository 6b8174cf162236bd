// SPDX-License-Identifier: Apache-2.0

// Groups activities into executions: one run of one module on one device.
//
// Where the source groups activities itself (run_key) an execution is what the source says; where
// thunk order found them, what it found.
// Otherwise the activities of a module on a device are walked in time order, and a new execution
// begins where an instruction of the entry computation that runs once per execution comes again,
// where the entry's schedule jumps back, or where another module ran in between on the same lane.

#ifndef XLATRACE_CORRELATOR_EXECUTION_GROUPING_H_
#define XLATRACE_CORRELATOR_EXECUTION_GROUPING_H_

#include <cstdint>
#include <span>

#include "correlator/module_table.h"
#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::correlator {

// Fills executions and execution_of, from label_of and labels. Executions are in order of their
// start, then device. `aligned`: per activity the execution that thunk order found, 0: none; or
// empty.
void GroupExecutions(const model::RunTables& run, const ModuleTable& modules,
                     std::span<const uint32_t> aligned, model::AttributionTables* tables);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_EXECUTION_GROUPING_H_
