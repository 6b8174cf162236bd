// SPDX-License-Identifier: Apache-2.0

// The memory of one module in a few numbers: totals, bytes by owner, and the largest buffers at the
// peak with owner and line.
//
// Thread-safety: pure.

#ifndef XLATRACE_ANALYSIS_MEMORY_PEAK_MEMORY_H_
#define XLATRACE_ANALYSIS_MEMORY_PEAK_MEMORY_H_

#include "hlo/artefacts/buffer_assignment.h"
#include "hlo/artefacts/live_ranges.h"
#include "hlo/artefacts/module_memory.h"
#include "model/hlo_module.h"

namespace xlatrace::analysis {

// Without a schedule, values of the heap have no owner (hlo::MemoryOf). `live_ranges` may be null.
hlo::ModuleMemory PeakMemory(const model::HloModule& module,
                             const hlo::BufferAssignment& assignment,
                             const hlo::LiveRanges* live_ranges);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_MEMORY_PEAK_MEMORY_H_
