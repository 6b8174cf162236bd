// SPDX-License-Identifier: Apache-2.0

// Memory of a compiled program: its buffers, and the bytes in use at each position of its schedule.
//
// Thread-safety: plain data.

#ifndef XLATRACE_MODEL_MEMORY_ROWS_H_
#define XLATRACE_MODEL_MEMORY_ROWS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/events.h"

namespace xlatrace::model {

enum class BufferOwner : uint8_t {
  kParameters,
  kOptimizerState,
  kGradients,
  kActivations,
  kCollective,  // Results of collectives.
  kWorkspace,   // Scratch memory of library calls.
  kConstants,
  kInputs,
  kState,  // Inputs that the program hands on updated: caches, random keys, running statistics.
  kOutputs,
  kTemporary,
  kUnused,  // Between values of the heap when most of it is in use.
};
inline constexpr std::array<std::string_view, 12> kBufferOwnerWords = {
    "parameters", "optimizer state", "gradients", "activations", "collective", "workspace",
    "constants",  "inputs",          "state",     "outputs",     "temporary",  "unused"};
constexpr std::string_view Text(BufferOwner owner) {
  return kBufferOwnerWords[static_cast<size_t>(owner)];
}

// A value in memory, or a whole allocation that holds no value at its peak.
struct BufferRow {
  Id module_id = 0;
  int64_t allocation = -1;
  int64_t offset_bytes = 0;
  int64_t bytes = 0;
  // Part of these bytes that this row owns at the peak of its memory space. The parts of a space
  // sum to the size of its allocations.
  int64_t peak_bytes = 0;
  std::string memory_space;  // "device", "vector", "host", ...
  BufferOwner owner = BufferOwner::kTemporary;
  std::string instruction;  // Defines the value; empty: none.
  std::string shape_index;  // "{1}"; empty: the whole result.
  std::string shape;
  Id described_by = 0;  // Instruction with the layer, phase and line. 0: none.
  int64_t first = 0;    // Positions in the schedule, both inclusive.
  int64_t last = 0;
};

// Bytes in use in device memory while an instruction runs.
struct MemoryPositionRow {
  Id module_id = 0;
  int64_t position = 0;
  Id instruction_id = 0;
  int64_t bytes = 0;
  // Times of the instruction in one recorded execution; nothing: no activity.
  std::optional<int64_t> start_ns, end_ns;
};

struct MemoryTables {
  std::vector<BufferRow> buffers;            // Grouped by module, the largest part of a peak first.
  std::vector<MemoryPositionRow> positions;  // Grouped by module, ascending.
  int64_t modules_left_out = 0;  // Small modules without rows, to limit the file's size.
};

}  // namespace xlatrace::model

#endif  // XLATRACE_MODEL_MEMORY_ROWS_H_
