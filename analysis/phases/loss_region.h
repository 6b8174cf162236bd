// Which forward work of a JAX module is its loss, where no scope says so.
//
// The loss lies behind the model's last layer or matrix product and leads to one number. What JAX
// differentiates there without a scope is loss from the first op on that no head of a model has.

#ifndef XLATRACE_ANALYSIS_PHASES_LOSS_REGION_H_
#define XLATRACE_ANALYSIS_PHASES_LOSS_REGION_H_

#include "analysis/phases/draft.h"

namespace xlatrace::analysis::phases {

// Turns weakly decided forward work into loss; touches nothing else.
void DecideLoss(Draft& draft);

}  // namespace xlatrace::analysis::phases

#endif  // XLATRACE_ANALYSIS_PHASES_LOSS_REGION_H_
