// SPDX-License-Identifier: Apache-2.0
#include "analysis/phase_dataflow.h"

#include <utility>

#include "analysis/phases/draft.h"
#include "analysis/phases/inherited.h"
#include "analysis/phases/jax.h"
#include "analysis/phases/loss_region.h"
#include "analysis/phases/product_gradients.h"
#include "analysis/phases/relations.h"
#include "analysis/phases/tensorflow.h"
#include "analysis/phases/without_gradient.h"

namespace xlatrace::analysis {

// In stages. Each changes only nodes that earlier stages left open or decided weakly.
std::vector<NodePhase> DecidePhases(const ModuleGraph& graph, const std::vector<NodeFacts>& facts,
                                    const ModuleStyle& style, model::ModuleRole role) {
  phases::Draft draft(graph, facts, style, role);
  const bool jax = style.framework == Framework::kJax;
  const bool products = jax && style.has_jit_main && phases::DecideProductGradients(draft);
  phases::DecideMergedRemat(draft);
  const phases::Relations relations = phases::RelationsOf(draft);
  // `add_any` alone is not enough to separate the phases of an old JAX module.
  if (!style.has_backward && !products && (jax || !relations.has_backward)) {
    phases::DecideModuleWithoutGradient(draft);
  } else if (jax) {
    if (style.MarksEverything()) {
      phases::DecideUnmarkedJax(draft, relations);
    } else {
      phases::DecideUnmarkedOldJax(draft, relations);
    }
    phases::DecideLoss(draft);
    phases::DecideOldRemat(draft);
  } else {
    phases::DecideScopedTensorFlow(draft, relations);
    phases::DecideUnscopedTensorFlow(draft, relations);
  }
  phases::DecideInherited(draft);
  return std::move(draft).Take();
}

}  // namespace xlatrace::analysis
