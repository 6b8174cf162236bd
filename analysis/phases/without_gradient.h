// SPDX-License-Identifier: Apache-2.0

// Modules without any mark of a gradient: inference, helpers and separate updates. Training steps
// without any scope of JAX until 0.6 look the same.

#ifndef XLATRACE_ANALYSIS_PHASES_WITHOUT_GRADIENT_H_
#define XLATRACE_ANALYSIS_PHASES_WITHOUT_GRADIENT_H_

#include "analysis/phases/draft.h"

namespace xlatrace::analysis::phases {

// In old releases, a training step without any scope has no mark of its gradient, because its
// transforms had nothing to wrap. Returns true if other evidence shows a gradient.
bool MayHideGradients(const Draft& draft);

// Gives all unmarked work one phase: forward, optimizer, other or unknown, by role and functions.
void DecideModuleWithoutGradient(Draft& draft);

}  // namespace xlatrace::analysis::phases

#endif  // XLATRACE_ANALYSIS_PHASES_WITHOUT_GRADIENT_H_
