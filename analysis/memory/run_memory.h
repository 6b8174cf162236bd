// SPDX-License-Identifier: Apache-2.0

// Buffers and memory over time of the programs of a run (views `buffer` and `memory_over_time`).
//
// Positions of the schedule get times from one recorded execution: the complete execution of the
// program with median duration. Programs that only tune kernels have no rows.
//
// Thread-safety: pure.

#ifndef XLATRACE_ANALYSIS_MEMORY_RUN_MEMORY_H_
#define XLATRACE_ANALYSIS_MEMORY_RUN_MEMORY_H_

#include "analysis/analysis.h"
#include "model/derived.h"
#include "model/memory_rows.h"
#include "model/run_tables.h"

namespace xlatrace::analysis {

model::MemoryTables RunMemory(const model::RunTables& run,
                              const model::AttributionTables& attribution,
                              const ModuleLoader& load_module);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_MEMORY_RUN_MEMORY_H_
