// SPDX-License-Identifier: Apache-2.0

// Changes that many rows follow from: other arguments, more or fewer layers, recomputation.
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
  std::set<std::string> layers;  // That one side has and the other has not.
  bool recompute = false;        // There is more of it, or less.

  bool InAddedLayer(const Op& op) const;
};

Structure StructureChanges(const Run& base, const Run& now, const Comparison& comparison);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_STRUCTURE_CHANGES_H_
