// SPDX-License-Identifier: Apache-2.0

// Which memory XLA gave to which value: allocations, the values in them, and what is alive when
// most is in use.
//
// Gets the text dump (-buffer-assignment.txt of all years) or the BufferAssignmentProto inside of
// an optimised .hlo.pb. The heap of temporaries is one allocation, "preallocated-temp", into which
// values are packed; its size is the peak of all that must live at the same time.
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
  std::string shape;  // Empty where the source does not tell.
};

struct BufferAllocation {
  int64_t index = -1;
  int64_t size_bytes = 0;
  int64_t color = 0;              // Memory space.
  int64_t parameter_number = -1;  // -1: holds no parameter of the program.
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
  int64_t bytes = 0;              // Of the values below.
  std::string at_instruction;     // What runs then; empty: not known.
  int64_t at_position = -1;       // Its place in the schedule.
  std::vector<PeakValue> values;  // Largest first.
};

struct SpaceBytes {
  int64_t color = 0;
  int64_t bytes = 0;
};

struct BufferAssignment {
  Platform platform = Platform::kOther;
  std::vector<BufferAllocation> allocations;
  // Peaks that the source itself names: of the proto's heap simulator traces, one per heap.
  std::vector<MemoryPeak> peaks;

  // Sizes of allocations per memory space, by color. Equal to "Total bytes" of XLA's memory usage
  // report.
  std::vector<SpaceBytes> Spaces() const;

  // The following sums are of device memory (IsDeviceMemory).
  int64_t TotalBytes() const;
  int64_t ParameterBytes() const;  // Of which parameters, ...
  int64_t OutputBytes() const;     // ... results that are no parameters, ...
  int64_t ConstantBytes() const;
  int64_t TempBytes() const;  // ... and temporaries: the peak of the heap, and thread-local memory.
};

// Errors name the line. A text without any allocation is an error.
Result<BufferAssignment> ReadBufferAssignment(std::string_view text);

// Of a module that was read from a proto. An error when its file holds no buffer assignment.
Result<BufferAssignment> BufferAssignmentOf(const model::HloModule& module);

// What is alive in the heap of temporaries when most of it is in use, largest first: by the peaks
// of the proto, else by live ranges (values that share a place count once). Without either: the
// largest values of the heap, at_position = -1, and `bytes` is the size of the heap.
MemoryPeak PeakOf(const BufferAssignment& assignment, const LiveRanges* live_ranges);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_ARTEFACTS_BUFFER_ASSIGNMENT_H_
