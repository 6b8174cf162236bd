// SPDX-License-Identifier: Apache-2.0

// Modules in which nothing is marked as a gradient: inference, helpers, updates by themselves, and
// old JAX training steps without any scope, which only look like it.

#ifndef XLATRACE_ANALYSIS_PHASES_WITHOUT_GRADIENT_H_
#define XLATRACE_ANALYSIS_PHASES_WITHOUT_GRADIENT_H_

#include "analysis/phases/draft.h"

namespace xlatrace::analysis::phases {

// In old releases a training step without any scope has no mark of its gradient: its transforms
// had nothing to wrap. True where something else speaks for one.
bool MayHideGradients(const Draft& draft);

// All that is unmarked is one phase: forward, or optimizer, other, unknown by role and functions.
void DecideModuleWithoutGradient(Draft& draft);

}  // namespace xlatrace::analysis::phases

#endif  // XLATRACE_ANALYSIS_PHASES_WITHOUT_GRADIENT_H_
