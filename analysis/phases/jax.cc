// SPDX-License-Identifier: Apache-2.0
#include "analysis/phases/jax.h"

#include <algorithm>

#include "analysis/parameter_users.h"

namespace xlatrace::analysis::phases {
namespace {

using model::kNoIndex;
using model::Phase;

// Seeds and all that they depend on.
std::vector<bool> UpTo(const Draft& draft, const std::vector<bool>& seeds) {
  std::vector<bool> before = draft.graph().Dependencies(seeds);
  for (uint32_t node = 0; node < draft.size(); ++node) before[node] = before[node] || seeds[node];
  return before;
}

// Inputs of the update that depend on no gradient: a decayed rate, a bias correction, counters.
// Other results that no gradient reaches (a simulation beside the training) are excluded.
std::vector<bool> BeforeUpdate(const Draft& draft, const Relations& relations) {
  const model::HloModule& module = draft.module();
  std::vector<bool> update(draft.size(), false);
  for (uint32_t node = 0; node < draft.size(); ++node) {
    update[node] = draft.IsUnmarked(node) && relations.after_backward[node];
  }
  if (module.entry < module.computations.size()) {
    const uint32_t root = module.computations[module.entry].root;
    if (root == kNoIndex || draft.At(root).opcode != "tuple") {
      return std::vector<bool>(draft.size(), true);  // The results are unknown.
    }
    for (const uint32_t result : module.Operands(draft.At(root))) {
      const std::string_view shape = draft.At(result).shape;
      if (IsScalarShape(shape) && !IsFloatingShape(shape)) update[result] = true;
    }
  }
  return UpTo(draft, update);
}

// Scalars that depend on forward work alone and lead nowhere: the loss, and metrics.
std::vector<bool> BeforeLossValue(const Draft& draft, const Relations& relations) {
  std::vector<bool> values(draft.size(), false);
  for (uint32_t node = 0; node < draft.size(); ++node) {
    values[node] = draft.IsUnmarked(node) && relations.after_forward[node] &&
                   !relations.after_backward[node] && !relations.before_forward[node] &&
                   !relations.before_backward[node] && IsScalarShape(draft.At(node).shape);
  }
  return UpTo(draft, values);
}

// Work between the last layer and the first gradient: forward if it depends on no other lines than
// those of the layers. All true if the loss has no line of its own.
std::vector<bool> AfterTheTurn(const Draft& draft, const Relations& relations) {
  const std::set<Draft::Line> forward_lines = draft.LinesOf(IsForward);
  std::vector<bool> turns(draft.size(), false);
  for (uint32_t node = 0; node < draft.size(); ++node) {
    turns[node] = draft.IsUnmarked(node) && relations.after_forward[node] &&
                  !relations.before_forward[node] && relations.before_backward[node] &&
                  draft.HasLine(node) && !forward_lines.contains(draft.LineOf(node));
  }
  if (std::find(turns.begin(), turns.end(), true) == turns.end()) {
    return std::vector<bool>(draft.size(), true);
  }
  std::vector<bool> after = draft.graph().Dependents(turns);
  for (uint32_t node = 0; node < draft.size(); ++node) after[node] = after[node] || turns[node];
  return after;
}

// Phase of a node that leads to marked work or to the loss; kUnknown for all others.
Phase LeadingInOldJax(const Draft& draft, const Relations& relations, uint32_t node,
                      const std::vector<bool>& before_loss, const std::vector<bool>& after_turn) {
  const bool after_backward = relations.after_backward[node];
  if (relations.before_forward[node]) return after_backward ? Phase::kBackward : Phase::kForward;
  if (draft.Facts(node).source.loss) {
    return after_backward || !before_loss[node] ? Phase::kBackward : Phase::kLoss;
  }
  if (relations.before_backward[node]) {
    if (after_backward) return Phase::kBackward;
    if (relations.after_forward[node] && !before_loss[node] && after_turn[node]) {
      return Phase::kBackward;
    }
    return Phase::kForward;
  }
  if (before_loss[node]) return draft.style().has_loss_scope ? Phase::kOther : Phase::kForward;
  return Phase::kUnknown;
}

}  // namespace

void DecideUnmarkedJax(Draft& draft, const Relations& relations) {
  const std::vector<bool> before_update = BeforeUpdate(draft, relations);
  for (uint32_t node = 0; node < draft.size(); ++node) {
    if (!draft.IsUnmarked(node) || relations.before_forward[node] ||
        relations.before_backward[node]) {
      continue;
    }
    const bool beside =
        !relations.after_backward[node] && (relations.after_forward[node] || !before_update[node]);
    draft.Decide(node, beside ? Phase::kOther : Phase::kOptimizer);
  }
}

void DecideUnmarkedOldJax(Draft& draft, const Relations& relations) {
  // First the nodes that lead to marked work or to the loss. This may add to the backward work that
  // decides the other nodes.
  const std::vector<bool> before_loss = BeforeLossValue(draft, relations);
  const std::vector<bool> after_turn = AfterTheTurn(draft, relations);
  std::vector<std::pair<uint32_t, Phase>> decided;
  for (uint32_t node = 0; node < draft.size(); ++node) {
    if (!draft.IsUnmarked(node)) continue;
    const Phase phase = LeadingInOldJax(draft, relations, node, before_loss, after_turn);
    if (phase != Phase::kUnknown) decided.emplace_back(node, phase);
  }
  for (const auto& [node, phase] : decided) {
    draft.Decide(node, phase);
    draft.SetWeak(node, phase == Phase::kForward);
  }
  const std::vector<bool> after_backward = AfterBackward(draft);
  const std::set<Draft::Line> forward_lines = draft.LinesOf(IsForward);
  for (uint32_t node = 0; node < draft.size(); ++node) {
    if (!draft.IsUnmarked(node)) continue;
    const bool gradient = relations.after_forward[node] || after_backward[node];
    const bool forward_line = forward_lines.contains(draft.LineOf(node));
    draft.Decide(node, gradient && forward_line ? Phase::kBackward : Phase::kOptimizer);
  }
}

void DecideMergedRemat(Draft& draft) {
  std::vector<uint32_t> marked;
  for (uint32_t node = 0; node < draft.size(); ++node) {
    if (draft.Name(node).remat && draft.Is(node, Phase::kBackward)) marked.push_back(node);
  }
  if (marked.empty()) return;
  const std::vector<bool> before_forward =
      draft.graph().Dependencies(draft.Seeds(IsForward, false));
  for (const uint32_t node : marked) {
    if (before_forward[node]) draft.Decide(node, Phase::kRecompute);
  }
}

void DecideOldRemat(Draft& draft) {
  std::vector<bool> cotangents(draft.size(), false);
  bool any = false;
  for (uint32_t node = 0; node < draft.size(); ++node) {
    any |= !draft.IsOpen(node) && draft.Name(node).remat;
    cotangents[node] =
        draft.Is(node, Phase::kBackward) && !draft.Name(node).remat && draft.IsFromInputs(node);
  }
  if (!any) return;
  const std::vector<bool> after = draft.graph().Dependents(cotangents);
  for (uint32_t node = 0; node < draft.size(); ++node) {
    if (!draft.Name(node).remat || !draft.Is(node, Phase::kBackward)) continue;
    if (!after[node] && draft.IsFromInputs(node)) draft.Decide(node, Phase::kRecompute);
  }
}

}  // namespace xlatrace::analysis::phases
