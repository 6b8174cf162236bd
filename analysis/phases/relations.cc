// SPDX-License-Identifier: Apache-2.0
#include "analysis/phases/relations.h"

#include <algorithm>

namespace xlatrace::analysis::phases {
namespace {

using model::Phase;

bool IsGradient(Phase phase) { return phase == Phase::kBackward; }
bool IsForwardProper(Phase phase) { return phase == Phase::kForward; }

}  // namespace

Relations RelationsOf(const Draft& draft) {
  const ModuleGraph& graph = draft.graph();
  Relations relations;
  relations.after_forward = graph.Dependents(draft.Seeds(IsForward, true));
  relations.before_forward = graph.Dependencies(draft.Seeds(IsForward, false));
  const std::vector<bool> gradients = draft.Seeds(IsGradient, true);
  relations.has_backward = std::find(gradients.begin(), gradients.end(), true) != gradients.end();
  relations.after_backward = graph.Dependents(gradients);
  relations.before_backward = graph.Dependencies(draft.Seeds(IsBackward, false));
  relations.before_layers = graph.Dependencies(draft.Seeds(IsForwardProper, false));
  return relations;
}

std::vector<bool> AfterBackward(const Draft& draft) {
  return draft.graph().Dependents(draft.Seeds(IsGradient, true));
}

}  // namespace xlatrace::analysis::phases
