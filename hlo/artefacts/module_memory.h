// SPDX-License-Identifier: Apache-2.0

// How much device memory a module needs, and for what, in a few numbers.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_HLO_ARTEFACTS_MODULE_MEMORY_H_
#define XLATRACE_HLO_ARTEFACTS_MODULE_MEMORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "hlo/artefacts/buffer_assignment.h"

namespace xlatrace::hlo {

struct ModuleMemory {
  int64_t total_bytes = 0;  // The peak on the device.
  int64_t parameter_bytes = 0;
  int64_t output_bytes = 0;  // Results that are no parameters.
  int64_t constant_bytes = 0;
  int64_t temp_bytes = 0;  // The heap that temporaries are packed into.
  Platform platform = Platform::kOther;
  std::vector<SpaceBytes> spaces;  // All memory spaces, by color.
  // What is alive when most of the heap is in use, the largest first, at most 8; and what runs
  // then (empty: not known).
  std::string at_instruction;
  std::vector<PeakValue> at_peak;
  size_t more_at_peak = 0;  // Values beyond these.
};

ModuleMemory MemoryOf(const BufferAssignment& assignment, const LiveRanges* live_ranges);

// "21.4 MB: 6.40 MB parameters, 15.0 MB temporary".
std::string MemoryText(const ModuleMemory& memory);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_ARTEFACTS_MODULE_MEMORY_H_
