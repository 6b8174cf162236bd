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

// For recordings without steps and with the same work: how often the work ran per second.
struct Pace {
  double ratio = 1;  // NEW to BASE.
  // For a sentence about all work: "about 11.8% fewer times in the same 299 ms".
  std::string often;
  std::string each;  // For the time per execution: "takes as long".
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
  // For "repetitions", if the lengths of the recordings are known and the pace changed.
  std::optional<Pace> pace;
};

// Number of shown changes; the others are only counted.
inline constexpr size_t kMaxShownChanges = 8;

// Changes in the direction of the total come first: a slower step starts with a loss, a faster one
// with a gain. Among these, certain important changes and large changes come first. If the total is
// about equal, they are ordered by weight alone. A large structural change in the other direction
// still comes second (PutStructureSecond). Empty if the comparison is refused, because differences
// are not changes then.
//
// Measured changes are left out if `time` is not distinguishable, or if they are only a small part
// of the difference of the time.
std::vector<Change> FindChanges(const Run& base, const Run& now, const Comparison& comparison,
                                const TimeChange& time);
// With the time of one run on each side.
std::vector<Change> FindChanges(const Run& base, const Run& now, const Comparison& comparison);

// By row: true if its only change is a measured time, and no change in `changes` contains the row.
// Its difference is then within the usual variation between runs, and allows no conclusion.
std::vector<bool> RowsOfUsualVariation(const Comparison& comparison,
                                       const std::vector<Change>& changes);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_CHANGES_H_
