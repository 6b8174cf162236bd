// SPDX-License-Identifier: Apache-2.0

// Finds the scores of attention: a product of two activations that a softmax reads.
//
// A weight is excluded: it is a parameter of the program, without a batch dimension in the product.
// A softmax is recognised by its exponential, which has as many elements as the product and follows
// it through elementwise operations and reductions only. Names are not used.
//
// Thread-safety: pure function. Linear in the module; each product is followed a bounded way.

#ifndef XLATRACE_ANALYSIS_FINDINGS_ATTENTION_SCORES_H_
#define XLATRACE_ANALYSIS_FINDINGS_ATTENTION_SCORES_H_

#include <cstdint>
#include <set>

#include "model/hlo_module.h"

namespace xlatrace::analysis::findings {

// Numbers of elements of all arrays of scores in the module.
std::set<int64_t> ScoreElements(const model::HloModule& module);

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_ATTENTION_SCORES_H_
