// SPDX-License-Identifier: Apache-2.0

// Phases that do not follow from TensorFlow's names in a module with gradients.
//
// tf.recompute_grad has no mark: scoped forward ops that depend on a gradient are recomputation.
// Ops outside of any name scope are loss, metrics, counters or updates, by their dependences and
// their users.

#ifndef XLATRACE_ANALYSIS_PHASES_TENSORFLOW_H_
#define XLATRACE_ANALYSIS_PHASES_TENSORFLOW_H_

#include "analysis/phases/draft.h"
#include "analysis/phases/relations.h"

namespace xlatrace::analysis::phases {

void DecideScopedTensorFlow(Draft& draft, const Relations& relations);
void DecideUnscopedTensorFlow(Draft& draft, const Relations& relations);

}  // namespace xlatrace::analysis::phases

#endif  // XLATRACE_ANALYSIS_PHASES_TENSORFLOW_H_
