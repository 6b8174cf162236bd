// SPDX-License-Identifier: Apache-2.0

// Which module of one run is which of the other: by fingerprint, then by name, then by the function
// it was compiled from, those with most work in common first; then which op of a pair is which.
// Other programs of a pair's function (compiled again for other shapes) do its work as well.
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
  size_t base = 0, now = 0;       // Into Run::modules.
  bool same_fingerprint = false;  // Then `groups` is empty: instructions go by name.
  bool by_content = false;        // `groups` holds what goes together.
  double similarity = -1;         // Part of the work with a partner; below 0: not known.
  std::vector<NamedGroup> groups;
  // The module of side 0 (base) or 1 (now) is one more program of a function whose pair holds the
  // other module; -1: it is that pair.
  int more_of_side = -1;
};

// Each module is in one pair, but those that others are `more_of_side` with.
std::vector<ModulePair> PairModules(const Run& base, const Run& now);

// Entry parameters, as many as before, of which some have other dimensions: another batch, another
// sequence length. "f32[8,16] -> f32[16,16]"; empty: all the same, or not so many.
std::string OtherInputs(const model::HloModule& base, const model::HloModule& now);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_MODULE_PAIRS_H_
