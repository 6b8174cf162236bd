// What changed between two runs, told once: rows that changed for one reason in one place are one
// change, and what no single row shows (idle time, CUDA graphs, layers, recomputation) is one too.
//
// Thread-safety: pure.

#ifndef XLATRACE_COMPARE_CHANGES_H_
#define XLATRACE_COMPARE_CHANGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compare/comparison.h"

namespace xlatrace::compare {

struct Change {
  std::string id;        // "precision", "layers", "idle": stable, for JSON.
  std::string text;      // "one fusion became 3 launched instructions".
  std::string where;     // "layer_*/attention, attentions.py:1553"; empty: everywhere.
  int64_t delta_ns = 0;  // Per step: of device time, or wall time where `wall`.
  bool wall = false;
  bool certain = true;       // Does not depend on measured time.
  std::vector<size_t> rows;  // Into Comparison::rows.
};

// Certain ones that matter and those that explain most first.
std::vector<Change> FindChanges(const Run& base, const Run& now, const Comparison& comparison);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_CHANGES_H_
