// SPDX-License-Identifier: Apache-2.0

// Effects of a change on the memory of a program. Covered are the bytes to keep if nothing were
// computed a second time, and the bytes of parameters' copies at the peak.
//
// Both are bounds from the module alone (analysis/live_values.h: live ranges). Only another
// compilation shows where the peak lies after the change, and how XLA uses the free memory.
// Thread-safety: pure.

#ifndef XLATRACE_ANALYSIS_FINDINGS_MEMORY_FACTS_H_
#define XLATRACE_ANALYSIS_FINDINGS_MEMORY_FACTS_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "model/hlo_module.h"

namespace xlatrace::analysis::findings {

// Texts of evidence (view finding).
inline constexpr std::string_view kMemoryAssigned = "memory of the program, as XLA assigned it";
inline constexpr std::string_view kMemoryByRanges =
    "memory of the program at its peak, by live ranges";
inline constexpr std::string_view kMemoryMore = "additional memory without recomputation, at most";
inline constexpr std::string_view kMemoryInCopies = "memory in these copies at the peak";

// Memory of one module.
struct MemoryFacts {
  // XLA's allocations if their assignment is known, otherwise by live ranges.
  int64_t peak_bytes = 0;
  bool from_assignment = false;
  std::vector<int64_t> bytes;  // One value per requested node; each function states its meaning.
};

// Bytes of each node's results that instructions without recomputation read. Backward needs these
// results, so without recomputation they would be kept. `again`: per instruction, true if it is
// recomputed.
MemoryFacts KeptWithoutRecomputation(const model::HloModule& module,
                                     const std::vector<uint32_t>& nodes,
                                     const std::vector<bool>& again);

// Bytes at the peak for the results of each node.
MemoryFacts HeldAtPeak(const model::HloModule& module, const std::vector<uint32_t>& nodes);

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_MEMORY_FACTS_H_
