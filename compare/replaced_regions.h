// SPDX-License-Identifier: Apache-2.0

// Parts of two programs with equal inputs and outputs and nothing else in common. Examples: four
// fusions instead of a library call; another algorithm for the same function.
//
// Thread-safety: pure.

#ifndef XLATRACE_COMPARE_REPLACED_REGIONS_H_
#define XLATRACE_COMPARE_REPLACED_REGIONS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "compare/flat_graph.h"
#include "compare/operation_match.h"

namespace xlatrace::compare {

struct ReplacedRegion {
  std::vector<uint32_t> base, now;  // Units.
};

// `is_free(is_now, unit)`: the unit has no partner. Units of a region are free and connected by
// data. A region and its partner share at least half of their paired neighbours, both among inputs
// and among readers.
std::vector<ReplacedRegion> FindReplacedRegions(
    const FlatGraph& base, const FlatGraph& now, const NodeMatch& match,
    const std::function<bool(bool is_now, uint32_t unit)>& is_free);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_REPLACED_REGIONS_H_
