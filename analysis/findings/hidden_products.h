// SPDX-License-Identifier: Apache-2.0

// Products that a CPU computes in threads that its profile does not show.
//
// XLA:CPU passes large products (dot, convolution) to a pool of threads and continues, so their
// recorded time is only that of the call. On a CPU, ops wait for data only. A gap inside an
// execution, before an op that reads the result of a product, is therefore time of that product.
// The attributed time is at most the time that the product can need.
// (xla/backends/cpu/runtime/dot_thunk.cc, convolution_thunk.cc: their events are asynchronous.)
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

// Adds the product to the evidence of gaps without evidence. `evidence`: by position of the gap.
void NameHiddenProducts(const Context& context, std::vector<model::GapEvidenceRow>& evidence);

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_HIDDEN_PRODUCTS_H_
