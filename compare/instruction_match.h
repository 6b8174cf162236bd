// SPDX-License-Identifier: Apache-2.0

// Which launched instructions of two modules do the same work: one for one, or, where the compiler
// split, merged or regrouped fusions, several for several.
//
// Operations are matched first, across the borders of fusions (operation_match.h). An instruction
// goes with the one on the other side that holds most of what it computes, by cost; what goes
// together in either direction is a group.
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
  double common = 0;  // Part of the work of both sides that is in both, 0 to 1.
};

struct ProgramMatch {
  std::vector<UnitGroup> groups;    // Both sides have at least one; by the first of `base`.
  std::vector<uint32_t> only_base;  // Launched, and nothing on the other side does their work.
  std::vector<uint32_t> only_now;
  double similarity = 0;  // Part of all work, both sides, that has a partner; 0 to 1.
};

ProgramMatch MatchPrograms(const model::HloModule& base, const model::HloModule& now);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_INSTRUCTION_MATCH_H_
