// SPDX-License-Identifier: Apache-2.0

// The buffers of one module: each value that XLA placed in memory, with its purpose, its live range
// and its part of the peak.
//
// Places and sizes come from the buffer assignment, so parts of the peak sum to XLA's total. Live
// ranges come from the schedule (analysis/live_values.h). An allocation outside the heap
// (parameter, result, constant) is reserved for the whole program and has its own purpose. Heap
// memory is attributed to the live values.
//
// Thread-safety: pure.

#ifndef XLATRACE_ANALYSIS_MEMORY_MODULE_BUFFERS_H_
#define XLATRACE_ANALYSIS_MEMORY_MODULE_BUFFERS_H_

#include <cstdint>
#include <vector>

#include "analysis/module_labels.h"
#include "base/error.h"
#include "hlo/artefacts/buffer_assignment.h"
#include "model/hlo_module.h"
#include "model/memory_rows.h"

namespace xlatrace::analysis {

struct ModuleBuffers {
  // Largest part of the peak first. `described_by` is an instruction's index + 1.
  std::vector<model::BufferRow> rows;
  std::vector<uint32_t> order;    // Instructions by position.
  std::vector<int64_t> bytes_at;  // Bytes of device memory in use, by position.
  int64_t peak_position = 0;      // Where most of the device memory is in use.
  int64_t total_bytes = 0;        // Device memory that XLA reserves.
};

// An error: the module has no schedule.
Result<ModuleBuffers> BuffersOf(const model::HloModule& module,
                                const hlo::BufferAssignment& assignment,
                                const ModuleLabels& labels);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_MEMORY_MODULE_BUFFERS_H_
