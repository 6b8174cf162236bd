// SPDX-License-Identifier: Apache-2.0

// Groups activities into executions: one run of one module on one device.
//
// If the source groups activities (run_key), its groups are the executions. If thunk order found
// executions, these are used. Otherwise, the activities of a module on a device are visited in time
// order. A new execution begins if an entry instruction that runs once per execution repeats. It
// also begins if the entry's schedule jumps back, or if another module ran in between on the same
// lane.

#ifndef XLATRACE_CORRELATOR_EXECUTION_GROUPING_H_
#define XLATRACE_CORRELATOR_EXECUTION_GROUPING_H_

#include <cstdint>
#include <span>

#include "correlator/module_table.h"
#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::correlator {

// Fills executions and execution_of, from label_of and labels. Executions are ordered by start,
// then device. `aligned`: per activity the execution from thunk order, or 0 for none; may be empty.
void GroupExecutions(const model::RunTables& run, const ModuleTable& modules,
                     std::span<const uint32_t> aligned, model::AttributionTables* tables);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_EXECUTION_GROUPING_H_
