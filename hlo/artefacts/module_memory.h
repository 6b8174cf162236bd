// SPDX-License-Identifier: Apache-2.0

// Summary of a module's device memory: its size, and the share of each purpose.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_HLO_ARTEFACTS_MODULE_MEMORY_H_
#define XLATRACE_HLO_ARTEFACTS_MODULE_MEMORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "hlo/artefacts/buffer_assignment.h"

namespace xlatrace::hlo {

inline constexpr size_t kMaxAtPeak = 8;

struct PeakBuffer : PeakValue {
  // Empty if the schedule of the module is unknown (analysis/memory/peak_memory.h).
  std::string owner;
  std::string phase;
  std::string layer;
  std::string source_file;  // Empty: unknown.
  int32_t source_line = 0;
};

struct OwnerBytes {
  std::string owner;
  int64_t bytes = 0;
};

struct ModuleMemory {
  int64_t total_bytes = 0;  // The peak on the device.
  int64_t parameter_bytes = 0;
  int64_t output_bytes = 0;  // Results that are no parameters.
  int64_t constant_bytes = 0;
  int64_t temp_bytes = 0;  // The heap that temporaries are packed into.
  Platform platform = Platform::kOther;
  std::vector<SpaceBytes> spaces;  // All memory spaces, by color.
  std::vector<OwnerBytes> owners;  // Parts of the peak, largest first; they sum to total_bytes.
  // Buffers at the peak, largest first, at most kMaxAtPeak. at_instruction is the instruction that
  // runs at the peak (empty: unknown).
  std::string at_instruction;
  std::vector<PeakBuffer> at_peak;
  size_t more_at_peak = 0;  // Number of further values.
};

ModuleMemory MemoryOf(const BufferAssignment& assignment, const LiveRanges* live_ranges);

// "21.4 MB: 6.40 MB parameters, 15.0 MB temporary".
std::string MemoryText(const ModuleMemory& memory);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_ARTEFACTS_MODULE_MEMORY_H_
