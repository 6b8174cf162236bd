// SPDX-License-Identifier: Apache-2.0

// Pairs the modules of two runs: by fingerprint, then by name, then by their function. Modules with
// the most common work come first. The ops of each pair are paired next. Other programs of the
// function of a pair (compiled again for other shapes) do the same work.
//
// Thread-safety: pure.

#ifndef XLATRACE_COMPARE_MODULE_PAIRS_H_
#define XLATRACE_COMPARE_MODULE_PAIRS_H_

#include <string>
#include <utility>
#include <vector>

#include "compare/run_rows.h"

namespace xlatrace::compare {

struct NamedGroup {
  std::vector<std::string> base, now;  // Instructions.
};

struct ModulePair {
  size_t base = 0, now = 0;  // Indices in Run::modules.
  // If true, `groups` is empty, and instructions are matched by name.
  bool same_fingerprint = false;
  bool by_content = false;  // If true, `groups` has the matches.
  double similarity = -1;   // Share of the work with a partner; negative: not known.
  std::vector<NamedGroup> groups;
  // Side (0: base, 1: now) whose module is another program of the function. The pair of the
  // function contains the other module. -1: this is that pair.
  int more_of_side = -1;
};

// Each module is in one pair, except those with other programs in `more_of_side`.
std::vector<ModulePair> PairModules(const Run& base, const Run& now);

// Entry parameters with other dimensions, if their number is unchanged: another batch, another
// sequence length. "f32[8,16] -> f32[16,16]"; empty: all equal, or another number.
std::string OtherInputs(const model::HloModule& base, const model::HloModule& now);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_MODULE_PAIRS_H_
