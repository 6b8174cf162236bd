// SPDX-License-Identifier: Apache-2.0

// Changes between two runs, each reported once. Rows that changed for one reason in one place are
// one change. Changes that no single row shows (idle time, CUDA graphs, layers, recomputation) are
// changes, too.
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
#include "compare/time_change.h"

namespace xlatrace::compare {

// For recordings without steps and with the same work: repetitions per second.
struct Pace {
  double ratio = 1;   // NEW to BASE.
  std::string often;  // For a sentence about all work: "about 11.8% fewer times in the same 299
                      // ms".
  std::string each;   // For the time per execution: "takes as long".
};

struct Change {
  std::string id;        // "precision", "layers", "idle": stable, for JSON.
  std::string text;      // "one fusion became 3 launched instructions".
  std::string where;     // "layer_*/attention, attentions.py:1553"; empty: everywhere.
  int64_t delta_ns = 0;  // Per step: of device time, or wall time where `wall`.
  bool wall = false;
  bool certain = true;       // Does not depend on measured time.
  std::string because;       // Other differences that may be the reason (circumstances.h).
  std::vector<size_t> rows;  // Indices in Comparison::rows.
  std::optional<Pace>
      pace;  // For "repetitions", if the lengths of the recordings are known and the pace changed.
};

// Number of changes that are shown; others are only counted.
inline constexpr size_t kMaxShownChanges = 8;

// Changes in the direction of the total come first: a slower step starts with a loss, a faster one
// with a gain. Among these, certain important changes and large changes come first. If the total is
// about equal, they are ordered by weight alone. A large structural change in the other direction
// still comes second (PutStructureSecond). Empty if the comparison is refused, because differences
// are not changes then.
//
// Measured changes are left out if `time` is not distinguishable. A measured change that is no good
// part of the difference of the time is left out, too.
std::vector<Change> FindChanges(const Run& base, const Run& now, const Comparison& comparison,
                                const TimeChange& time);
// With the time of one run on each side.
std::vector<Change> FindChanges(const Run& base, const Run& now, const Comparison& comparison);

// By row: its only change is a measured time, and no change in `changes` contains it. So its
// difference is within the usual variation between runs, and nothing is concluded from it.
std::vector<bool> RowsOfUsualVariation(const Comparison& comparison,
                                       const std::vector<Change>& changes);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_CHANGES_H_
