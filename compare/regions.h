// SPDX-License-Identifier: Apache-2.0

// The loops, branches and calls of a program: units that run other units.
//
// Thread-safety: one thread per object. The graph must outlive it.

#ifndef XLATRACE_COMPARE_REGIONS_H_
#define XLATRACE_COMPARE_REGIONS_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "compare/flat_graph.h"

namespace xlatrace::compare {

bool IsRegion(const FlatGraph& graph, uint32_t unit);

class Regions {
 public:
  explicit Regions(const FlatGraph& graph);

  // `region` and the regions around it, innermost first; empty for kNoIndex. A computation with
  // several callers has no region around it.
  const std::vector<uint32_t>& From(uint32_t region);

 private:
  const FlatGraph& graph_;
  std::vector<uint32_t> callers_;  // By computation.
  std::unordered_map<uint32_t, std::vector<uint32_t>> known_;
};

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_REGIONS_H_
