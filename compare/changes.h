// SPDX-License-Identifier: Apache-2.0

// What changed between two runs, told once: rows that changed for one reason in one place are one
// change, and what no single row shows (idle time, CUDA graphs, layers, recomputation) is one too.
//
// Thread-safety: pure.

#ifndef XLATRACE_COMPARE_CHANGES_H_
#define XLATRACE_COMPARE_CHANGES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compare/comparison.h"

namespace xlatrace::compare {

// Of recordings without steps whose work is the same: how often it was done in a second.
struct Pace {
  double ratio = 1;   // NEW's over BASE's.
  std::string often;  // Everything ran "about 11.8% fewer times in the same 299 ms".
  std::string each;   // Per execution the same work "takes as long".
};

struct Change {
  std::string id;        // "precision", "layers", "idle": stable, for JSON.
  std::string text;      // "one fusion became 3 launched instructions".
  std::string where;     // "layer_*/attention, attentions.py:1553"; empty: everywhere.
  int64_t delta_ns = 0;  // Per step: of device time, or wall time where `wall`.
  bool wall = false;
  bool certain = true;       // Does not depend on measured time.
  std::string because;       // What else is different and can be the reason (circumstances.h).
  std::vector<size_t> rows;  // Into Comparison::rows.
  std::optional<Pace>
      pace;  // Of "repetitions", where the recordings' lengths are known and it changed.
};

// As many are shown before the others are only counted.
inline constexpr size_t kShownChanges = 8;

// What goes the way of the whole first (a slower step is led by a loss, a faster one by a gain), of
// those certain ones that matter and those that explain most. Where the whole is about equal, by
// weight alone. Structure that goes the other way, by a good part of the whole, comes second all
// the same (PutStructureSecond). None where the runs are refused: what differs is then no change.
std::vector<Change> FindChanges(const Run& base, const Run& now, const Comparison& comparison);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_CHANGES_H_
