// SPDX-License-Identifier: Apache-2.0

// Matches the launched instructions of two modules: one to one, or several to several if the
// compiler split, merged or regrouped fusions.
//
// Operations are matched first, across the borders of fusions (operation_match.h). An instruction
// is matched with the one on the other side that contains most of its computation, by cost.
// Instructions that match in either direction form a group.
//
// Thread-safety: pure.

#ifndef XLATRACE_COMPARE_INSTRUCTION_MATCH_H_
#define XLATRACE_COMPARE_INSTRUCTION_MATCH_H_

#include <cstdint>
#include <vector>

#include "model/hlo_module.h"

namespace xlatrace::compare {

struct UnitGroup {
  std::vector<uint32_t> base;  // Instruction indices, ascending.
  std::vector<uint32_t> now;
  double common = 0;  // Share of the work of both sides that is in both, 0 to 1.
};

struct ProgramMatch {
  // Both sides have at least one unit; ordered by the first unit of `base`.
  std::vector<UnitGroup> groups;
  std::vector<uint32_t> only_base;  // Launched instructions without a counterpart.
  std::vector<uint32_t> only_now;
  double similarity = 0;  // Share of all work of both sides that has a partner; 0 to 1.
};

ProgramMatch MatchPrograms(const model::HloModule& base, const model::HloModule& now);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_INSTRUCTION_MATCH_H_
