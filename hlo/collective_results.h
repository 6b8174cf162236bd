// SPDX-License-Identifier: Apache-2.0

// The names of a collective that XLA combined from several and left without metadata.
//
// XLA replaces the collectives by views of the combined result: get-tuple-element, slice, bitcast,
// also as separate fusions. Each view keeps the metadata of the collective that it replaces, for
// example the psum of a gradient and its line.
//
// Thread-safety: pure function. Linear in instructions and operands.

#ifndef XLATRACE_HLO_COLLECTIVE_RESULTS_H_
#define XLATRACE_HLO_COLLECTIVE_RESULTS_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "model/hlo_module.h"

namespace xlatrace::hlo {

struct NamedResult {
  uint32_t instruction = model::kNoIndex;  // The view with the op_name.
  int64_t bytes = 0;
};

// By collective without an op_name (the -start half of asynchronous ones): views of its result that
// have one, each behind views without op_names only. Collectives without such views are left out.
std::unordered_map<uint32_t, std::vector<NamedResult>> NamedCollectiveResults(
    const model::HloModule& module);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_COLLECTIVE_RESULTS_H_
