// SPDX-License-Identifier: Apache-2.0

// Products that a CPU computes in threads that its profile does not show.
//
// XLA:CPU hands large products (dot, convolution) to a pool of threads and continues, so the
// recorded time of such an op is the hand-over. On a CPU, ops wait for data only. So a gap inside
// an execution, before an op that reads a product's result, is that product's time. The attributed
// time is at most the time that the product can need. (xla/backends/cpu/runtime/dot_thunk.cc,
// convolution_thunk.cc: their events are asynchronous.)
//
// Thread-safety: pure functions of the context.

#ifndef XLATRACE_ANALYSIS_FINDINGS_HIDDEN_PRODUCTS_H_
#define XLATRACE_ANALYSIS_FINDINGS_HIDDEN_PRODUCTS_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analysis/findings/idle.h"

namespace xlatrace::analysis::findings {

struct HiddenTime {
  int64_t sum_ns = 0;  // Sum over the basis, not per step.
  GapClaims gaps;
  std::map<const Op*, int64_t> of_product;                 // Per step (or run).
  std::vector<std::pair<uint32_t, const Op*>> product_of;  // Product that fills the gap.
};

// Empty for other devices than CPUs.
HiddenTime HiddenTimeOf(const Context& context, const std::vector<Gap>& gaps);

// Names the product in the evidence of these gaps that have none. `evidence`: by position.
void NameHiddenProducts(const Context& context, std::vector<model::GapEvidenceRow>& evidence);

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_HIDDEN_PRODUCTS_H_
