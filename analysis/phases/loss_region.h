// SPDX-License-Identifier: Apache-2.0

// Finds the loss among the forward work of a JAX module, if no scope marks it.
//
// The model is every forward layer and matrix product. It is followed by its head, made of ops that
// heads have (a bias, an activation, a reshape), and then by the loss. The loss starts with the
// first op that no head has, or that a function named after a loss calls. It includes all ops that
// depend on that op. Work on inputs that leads neither into the model nor into its head also
// belongs to the loss: labels, regularisers. Work on the source line of a matrix product is loss
// only after the model, and only if it leads to one number.

#ifndef XLATRACE_ANALYSIS_PHASES_LOSS_REGION_H_
#define XLATRACE_ANALYSIS_PHASES_LOSS_REGION_H_

#include "analysis/phases/draft.h"

namespace xlatrace::analysis::phases {

// Changes weakly decided forward work to loss, and nothing else.
void DecideLoss(Draft& draft);

}  // namespace xlatrace::analysis::phases

#endif  // XLATRACE_ANALYSIS_PHASES_LOSS_REGION_H_
