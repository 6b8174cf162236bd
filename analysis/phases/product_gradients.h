// SPDX-License-Identifier: Apache-2.0

// Finds gradients without marks, by the products that compute them.
//
// In JAX until 0.6, the gradient of code outside of all scopes has no mark, but its products
// identify it. The gradient of dot(x, w) by w is another product with x, on the same source line.
// Its other operand is derived from the first product's result. Two other patterns look similar.
// Iterations of an unrolled Python loop have the shared operand in the same place, with the same
// dimensions contracted. And (x @ w) @ w.T uses the first product's result unchanged. In a module
// without other evidence of gradients, one line alone is not sufficient.

#ifndef XLATRACE_ANALYSIS_PHASES_PRODUCT_GRADIENTS_H_
#define XLATRACE_ANALYSIS_PHASES_PRODUCT_GRADIENTS_H_

#include "analysis/phases/draft.h"

namespace xlatrace::analysis::phases {

// Decides the products (weakly forward) and their gradients (backward). Returns true if it found
// any. Bounded work: in a very large module, products beyond the bound stay undecided.
bool DecideProductGradients(Draft& draft);

}  // namespace xlatrace::analysis::phases

#endif  // XLATRACE_ANALYSIS_PHASES_PRODUCT_GRADIENTS_H_
