// SPDX-License-Identifier: Apache-2.0

// What a change to a program does to its memory: what would have to be kept if nothing were
// computed a second time, and what copies of parameters hold at the peak.
//
// Both are bounds from the module alone (analysis/live_values.h for what lives when): where the
// peak lies after the change, and what XLA makes of the room, only another compilation tells.
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
inline constexpr std::string_view kMemoryMore = "more of it without recomputation, at most";
inline constexpr std::string_view kMemoryInCopies = "of it in these copies at the peak";

// Of a module.
struct MemoryFacts {
  int64_t peak_bytes =
      0;  // XLA's allocations where their assignment is known, else of live ranges.
  bool from_assignment = false;
  std::vector<int64_t> bytes;  // Of the nodes asked for, as the function says.
};

// Bytes of results of each node that instructions read which are not computed again: what backward
// needs, and what would be kept from the first time on. `again`: per instruction of the module.
MemoryFacts KeptWithoutRecomputation(const model::HloModule& module,
                                     const std::vector<uint32_t>& nodes,
                                     const std::vector<bool>& again);

// Bytes that each node's results hold when most memory is in use.
MemoryFacts HeldAtPeak(const model::HloModule& module, const std::vector<uint32_t>& nodes);

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_MEMORY_FACTS_H_
