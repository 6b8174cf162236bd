// SPDX-License-Identifier: Apache-2.0

// Parts of two programs that have nothing in common but what goes in and what comes out: four
// fusions in the place of a library call, another algorithm for the same function.
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

// `is_free(is_now, unit)`: the unit goes with nothing yet. Units of a region are free, connected by
// data, and have at least half of their paired neighbours in common with the region on the other
// side, among both what they read and what reads them.
std::vector<ReplacedRegion> FindReplacedRegions(
    const FlatGraph& base, const FlatGraph& now, const NodeMatch& match,
    const std::function<bool(bool is_now, uint32_t unit)>& is_free);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_REPLACED_REGIONS_H_
