// SPDX-License-Identifier: Apache-2.0

// XLA's assignment of memory to values: allocations, the values in them, and the values that are
// alive at the peak.
//
// Input: the text dump (-buffer-assignment.txt of all years), or the BufferAssignmentProto inside
// of an optimised .hlo.pb. The heap of temporaries is one allocation, "preallocated-temp", into
// which values are packed. Its size is the peak of all values that must live at the same time.
//
// Thread-safety: plain data; readers are pure.
// Source: BufferAssignment::ToString and ToProto in xla/service/buffer_assignment.cc; hlo.proto.

#ifndef XLATRACE_HLO_ARTEFACTS_BUFFER_ASSIGNMENT_H_
#define XLATRACE_HLO_ARTEFACTS_BUFFER_ASSIGNMENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "hlo/artefacts/live_ranges.h"
#include "hlo/artefacts/memory_space.h"
#include "model/hlo_module.h"

namespace xlatrace::hlo {

// A value in an allocation: the result of an instruction, or one leaf of it.
struct AssignedValue {
  int64_t id = -1;
  std::string instruction;
  std::string shape_index;  // "{0}", "{1,0}"; empty for the whole result.
  int64_t size_bytes = 0;
  int64_t offset_bytes = 0;
  std::string shape;  // Empty if the source has no shapes.
};

struct BufferAllocation {
  int64_t index = -1;
  int64_t size_bytes = 0;
  int64_t color = 0;              // Memory space.
  int64_t parameter_number = -1;  // -1: contains no parameter of the program.
  bool is_thread_local = false;   // Values inside fusions and reducers; XLA counts their bytes.
  bool is_constant = false;
  bool is_tuple = false;
  bool maybe_live_out = false;  // Holds a result.
  bool is_temp = false;         // The packed heap: none of the above.
  std::vector<AssignedValue> values;
};

// A value that is alive at the peak.
struct PeakValue {
  std::string instruction;
  std::string shape_index;
  std::string shape;
  int64_t size_bytes = 0;
  int64_t allocation = -1;
};

struct MemoryPeak {
  int64_t bytes = 0;              // Sum of the values below.
  std::string at_instruction;     // The instruction that runs at the peak; empty: unknown.
  int64_t at_position = -1;       // Position of that instruction in the schedule.
  std::vector<PeakValue> values;  // Largest first.
};

struct SpaceBytes {
  int64_t color = 0;
  int64_t bytes = 0;
};

struct BufferAssignment {
  Platform platform = Platform::kOther;
  std::vector<BufferAllocation> allocations;
  // Peaks that the source itself names: one per heap simulator trace of the proto.
  std::vector<MemoryPeak> peaks;

  // Sizes of allocations per memory space, by color. Equal to "Total bytes" of XLA's memory usage
  // report.
  std::vector<SpaceBytes> Spaces() const;

  // Sums over device memory (IsDeviceMemory): all allocations,
  int64_t TotalBytes() const;
  int64_t ParameterBytes() const;  // parameters,
  int64_t OutputBytes() const;     // results that are not parameters,
  int64_t ConstantBytes() const;
  int64_t TempBytes() const;  // and temporaries: the peak of the heap, and thread-local memory.
};

// Errors name the line. A text without any allocation is an error.
Result<BufferAssignment> ReadBufferAssignment(std::string_view text);

// For a module that was read from a proto. Error if its file has no buffer assignment.
Result<BufferAssignment> BufferAssignmentOf(const model::HloModule& module);

// The values in the heap of temporaries at its peak, largest first. Uses the peaks of the proto, or
// else live ranges (values that share a place count once). Without either: the largest values of
// the heap, with at_position = -1, and `bytes` is the size of the heap.
MemoryPeak PeakOf(const BufferAssignment& assignment, const LiveRanges* live_ranges);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_ARTEFACTS_BUFFER_ASSIGNMENT_H_
