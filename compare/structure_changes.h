// SPDX-License-Identifier: Apache-2.0

// Changes that cause many rows: other arguments, more or fewer layers, recomputation.
//
// Thread-safety: pure.

#ifndef XLATRACE_COMPARE_STRUCTURE_CHANGES_H_
#define XLATRACE_COMPARE_STRUCTURE_CHANGES_H_

#include <set>
#include <string>
#include <vector>

#include "compare/changes.h"

namespace xlatrace::compare {

struct Structure {
  std::vector<Change> changes;
  std::set<std::string> layers;  // Layers that only one side has.
  bool unrolled = false;         // Loops have another number of iterations for the same work.
  bool recompute = false;        // The amount of recomputation changed.

  bool InAddedLayer(const Op& op) const;
};

Structure StructureChanges(const Run& base, const Run& now, const Comparison& comparison);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_STRUCTURE_CHANGES_H_
