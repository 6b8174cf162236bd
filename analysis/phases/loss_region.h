// SPDX-License-Identifier: Apache-2.0

// Which forward work of a JAX module is its loss, where no scope says so.
//
// The model is every forward layer and matrix product. Behind it comes its head, made of ops that
// heads have (a bias, an activation, a reshape), and then the loss: from the first op on that no
// head has, or that a function named after a loss calls, with all that depends on it. Beside it,
// what depends on inputs and leads neither into the model nor into its head is loss too: labels,
// regularisers. What stands on the source line of a matrix product is loss only behind the model,
// where it leads to one number.

#ifndef XLATRACE_ANALYSIS_PHASES_LOSS_REGION_H_
#define XLATRACE_ANALYSIS_PHASES_LOSS_REGION_H_

#include "analysis/phases/draft.h"

namespace xlatrace::analysis::phases {

// Turns weakly decided forward work into loss; touches nothing else.
void DecideLoss(Draft& draft);

}  // namespace xlatrace::analysis::phases

#endif  // XLATRACE_ANALYSIS_PHASES_LOSS_REGION_H_
