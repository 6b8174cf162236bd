// SPDX-License-Identifier: Apache-2.0

// Reads -memory-usage-report.txt: memory per space and allocation, slot by slot.
//
// A slot is a place that values share over time: its size is that of the largest, so shapes must
// not be added up. Thread-safety: pure. Source: BufferAssignment::MemoryUsageReport in
// xla/service/buffer_assignment.cc (2024 on).

#ifndef XLATRACE_HLO_ARTEFACTS_MEMORY_USAGE_H_
#define XLATRACE_HLO_ARTEFACTS_MEMORY_USAGE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace xlatrace::hlo {

struct MemorySlot {
  int64_t size_bytes = 0;  // The printed size, rounded to the printed digits.
  int64_t offset_bytes = 0;
  int64_t values = 0;  // Number of values in the slot.
  std::string shapes;  // "f32[8], 3×bf16[4,4]".
};

struct MemoryTable {
  std::vector<MemorySlot> slots;  // Largest first; each slot is one allocation.
};

struct MemorySpace {
  std::string name;  // "default".
  int64_t color = 0;
  int64_t total_bytes = 0;
  std::vector<MemoryTable> allocations;
};

// Errors name the line. A text without "Memory Space:" is an error.
Result<std::vector<MemorySpace>> ReadMemoryUsage(std::string_view text);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_ARTEFACTS_MEMORY_USAGE_H_
