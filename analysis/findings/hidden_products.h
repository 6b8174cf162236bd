// SPDX-License-Identifier: Apache-2.0

// Products that a CPU computes in threads which its profile does not show.
//
// XLA:CPU hands large products (dot, convolution) to a pool of threads and goes on: what is
// recorded of such an op is the hand-over. Nothing waits on a CPU but for data, so a gap inside an
// execution before an op that reads a product's result is that product's time, as far as it can
// need it. (xla/backends/cpu/runtime/dot_thunk.cc, convolution_thunk.cc: their events are
// asynchronous.)
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
  int64_t sum_ns = 0;  // Of the basis, not per step.
  GapClaims gaps;
  std::map<const Op*, int64_t> of_product;                 // Per step (or run).
  std::vector<std::pair<uint32_t, const Op*>> product_of;  // By gap: whose product it is.
};

// Nothing on other devices than CPUs.
HiddenTime HiddenTimeOf(const Context& context, const std::vector<Gap>& gaps);

// Says of these gaps what ran in them, where nothing is said yet. `evidence`: by position.
void SayHiddenProducts(const Context& context, std::vector<model::GapEvidenceRow>& evidence);

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_HIDDEN_PRODUCTS_H_
