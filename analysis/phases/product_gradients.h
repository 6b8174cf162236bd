// SPDX-License-Identifier: Apache-2.0

// Finds gradients by the products that make them, where no name marks them.
//
// In JAX until 0.6 nothing marks the gradient of code outside of all scopes, but products give it
// away: the gradient of dot(x, w) by w is another product with x, of something that was made of
// the first one's result, and it has its source line. What a loop unrolled in Python makes of one
// line has the shared operand in the same place with the same dimensions contracted, and
// (x @ w) @ w.T uses the first one's result as it is: neither is one. In a module that nothing
// else says to have gradients, one line alone is no proof.

#ifndef XLATRACE_ANALYSIS_PHASES_PRODUCT_GRADIENTS_H_
#define XLATRACE_ANALYSIS_PHASES_PRODUCT_GRADIENTS_H_

#include "analysis/phases/draft.h"

namespace xlatrace::analysis::phases {

// Decides the products (weakly forward) and their gradients (backward). True where one was found.
// Bounded work: what a very large module leaves out stays undecided.
bool DecideProductGradients(Draft& draft);

}  // namespace xlatrace::analysis::phases

#endif  // XLATRACE_ANALYSIS_PHASES_PRODUCT_GRADIENTS_H_
