// SPDX-License-Identifier: Apache-2.0
#include "analysis/phases/tensorflow.h"

#include <algorithm>
#include <array>

namespace xlatrace::analysis::phases {
namespace {

using model::Instruction;
using model::kNoIndex;
using model::Phase;

// Ops that losses and regularisers are written with, by node name.
bool MakesScalars(std::string_view leaf) {
  static constexpr std::array<std::string_view, 7> kStems = {
      "Square", "SquaredDifference", "Sum", "Mean", "L2Loss", "Pow", "pow"};
  return std::any_of(kStems.begin(), kStems.end(), [&](std::string_view stem) {
    return leaf == stem || (leaf.starts_with(stem) && leaf[stem.size()] == '_');
  });
}

Phase PhaseOfUnscoped(const Draft& draft, const Relations& relations, uint32_t node) {
  const Instruction& self = draft.At(node);
  if (relations.after_backward[node]) {
    return relations.before_backward[node] ? Phase::kBackward : Phase::kOptimizer;
  }
  if (relations.before_layers[node]) return Phase::kForward;
  const bool after_forward = relations.after_forward[node];
  const bool before_forward = relations.before_forward[node];
  if (before_forward || relations.before_backward[node]) {
    const bool lossy = !IsMatrixWork(self.opcode) &&
                       (after_forward || before_forward || MakesScalars(draft.Name(node).leaf));
    return lossy ? Phase::kLoss : Phase::kForward;
  }
  const bool floating = IsFloatingShape(self.shape);
  if (after_forward) {  // Metrics, or a loss without scope.
    return draft.style().has_loss_scope || !floating ? Phase::kOther : Phase::kLoss;
  }
  // `iterations += 1`, and a regulariser's sum of squares; the others are counters of metrics.
  if (self.shape.starts_with("s64[]")) return Phase::kOptimizer;
  return floating && draft.IsFromInputs(node) ? Phase::kLoss : Phase::kOther;
}

}  // namespace

void DecideScopedTensorFlow(Draft& draft, const Relations& relations) {
  const model::HloModule& module = draft.module();
  std::vector<bool> outputs(draft.size(), false);
  if (module.entry < module.computations.size() &&
      module.computations[module.entry].root != kNoIndex) {
    outputs[module.computations[module.entry].root] = true;
  }
  const std::vector<bool> before_output = draft.graph().Dependencies(outputs);
  for (uint32_t node = 0; node < draft.size(); ++node) {
    const NameVerdict& verdict = draft.Facts(node).verdict;
    const bool scoped_forward =
        verdict.certainty == Certainty::kWeak && verdict.phase == Phase::kForward;
    if (!scoped_forward || !relations.after_backward[node]) continue;
    // Work without users is recomputation too: an update would be an output.
    const bool update = !relations.before_backward[node] && before_output[node];
    draft.Decide(node, update ? Phase::kOptimizer : Phase::kRecompute);
  }
}

void DecideUnscopedTensorFlow(Draft& draft, const Relations& relations) {
  for (uint32_t node = 0; node < draft.size(); ++node) {
    if (draft.IsUnmarked(node)) draft.Decide(node, PhaseOfUnscoped(draft, relations, node));
  }
}

}  // namespace xlatrace::analysis::phases
