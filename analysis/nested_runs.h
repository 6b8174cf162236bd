// SPDX-License-Identifier: Apache-2.0

// Finds activities that are part of an enclosing run of the same instruction. Such an instruction
// ran once but is recorded twice, because a thunk runs another thunk under its own name. Example:
// DynamicSliceThunk and the product in it, in tables of nsys-jax.
//
// Thread-safety: const after construction.

#ifndef XLATRACE_ANALYSIS_NESTED_RUNS_H_
#define XLATRACE_ANALYSIS_NESTED_RUNS_H_

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::analysis {

class NestedRuns {
 public:
  // Both must outlive this object. Costs one pass over the launches, and memory only if some
  // launches contain others.
  NestedRuns(const model::RunTables& run, const model::AttributionTables& attribution);

  // True if another activity of the same instruction contains this activity (a position), on the
  // same lane.
  bool IsPart(size_t activity) const;

 private:
  // An activity that contains others.
  struct Outer {
    int64_t start_ns = 0;
    int64_t latest_end_ns = 0;  // Latest end of this and all earlier activities.
    size_t activity = 0;
  };

  uint64_t KeyOf(size_t activity) const;  // Lane and instruction; 0: has none.

  const model::RunTables& run_;
  const model::AttributionTables& attribution_;
  // By start; of equal starts, the longest first.
  std::unordered_map<uint64_t, std::vector<Outer>> outers_;
};

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_NESTED_RUNS_H_
