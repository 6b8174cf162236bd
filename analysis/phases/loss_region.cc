// SPDX-License-Identifier: Apache-2.0
#include "analysis/phases/loss_region.h"

#include <algorithm>
#include <array>

#include "analysis/parameter_users.h"

namespace xlatrace::analysis::phases {
namespace {

using model::Phase;

// Behind the last layer, these belong to the head of the model until the loss has begun.
bool MayBelongToHead(std::string_view leaf) {
  static constexpr std::array<std::string_view, 16> kLeaves = {"add",
                                                               "tanh",
                                                               "max",
                                                               "logistic",
                                                               "dot_general",
                                                               "broadcast_in_dim",
                                                               "reshape",
                                                               "transpose",
                                                               "convert_element_type",
                                                               "custom_jvp_call",
                                                               "squeeze",
                                                               "slice",
                                                               "concatenate",
                                                               "copy",
                                                               "while",
                                                               "cond"};
  return std::find(kLeaves.begin(), kLeaves.end(), leaf) != kLeaves.end();
}

// jax.random's own functions.
bool IsRandom(const OpName& name) {
  static constexpr std::array<std::string_view, 8> kStems = {
      "_normal", "_uniform", "_bernoulli",        "_threefry",
      "_gumbel", "_randint", "_truncated_normal", "_categorical"};
  return std::any_of(name.functions.begin(), name.functions.end(), [&](std::string_view function) {
    return std::any_of(kStems.begin(), kStems.end(),
                       [&](std::string_view stem) { return function.starts_with(stem); });
  });
}

// The model proper: layers and matrix products of the forward pass.
struct Core {
  std::vector<bool> nodes;
  bool any = false;
  // Derivatives of a layer's last line, made for the backward pass, are no loss.
  std::set<Draft::Line> product_lines;
};

Core FindCore(const Draft& draft) {
  Core core;
  core.nodes.resize(draft.size(), false);
  for (uint32_t node = 0; node < draft.size(); ++node) {
    if (!draft.Is(node, Phase::kForward) || !draft.IsFromInputs(node)) continue;
    const bool product = IsMatrixWork(draft.At(node).opcode);
    if (draft.Name(node).scopes.empty() && !product) continue;
    core.nodes[node] = core.any = true;
    if (product && draft.HasLine(node)) core.product_lines.insert(draft.LineOf(node));
  }
  return core;
}

// Forward work outside of the core that no name has placed for sure, and that is no input.
bool MayBeLoss(const Draft& draft, uint32_t node, const std::vector<bool>& before_core) {
  if (!draft.Is(node, Phase::kForward) || !draft.IsWeak(node)) return false;
  if (draft.Name(node).loop || draft.At(node).opcode == "while") return false;
  return !before_core[node] && draft.IsFromInputs(node) && !draft.Facts(node).source.layer &&
         !IsRandom(draft.Name(node));
}

}  // namespace

void DecideLoss(Draft& draft) {
  const ModuleGraph& graph = draft.graph();
  const Core core = FindCore(draft);
  if (!core.any) return;
  const std::vector<bool> before_core = graph.Dependencies(core.nodes);
  const std::vector<bool> after_core = graph.Dependents(core.nodes);
  std::vector<bool> values(draft.size(), false);
  for (uint32_t node = 0; node < draft.size(); ++node) {
    values[node] = !draft.IsOpen(node) && IsForward(draft.PhaseOf(node)) &&
                   IsScalarShape(draft.At(node).shape);
  }
  const std::vector<bool> before_value = graph.Dependencies(values);
  std::vector<bool> tail(draft.size(), false);  // Behind the model.
  std::vector<bool> side(draft.size(), false);  // Beside it: labels, regularisers, a last bias.
  std::vector<bool> loss(draft.size(), false);
  for (uint32_t node = 0; node < draft.size(); ++node) {
    if (core.nodes[node] || !MayBeLoss(draft, node, before_core)) continue;
    const std::string& leaf = draft.Name(node).leaf;
    const bool layer_line = draft.HasLine(node) && core.product_lines.contains(draft.LineOf(node));
    if (after_core[node]) {
      tail[node] = !layer_line || before_value[node] || values[node];
      loss[node] = tail[node] && (draft.Facts(node).source.loss_function || !MayBelongToHead(leaf));
    } else {
      side[node] = !layer_line && leaf != "while" && leaf != "cond";
    }
  }
  const std::vector<bool> after_loss = graph.Dependents(loss);
  std::vector<bool> head(draft.size(), false);
  for (uint32_t node = 0; node < draft.size(); ++node) {
    loss[node] = loss[node] || (tail[node] && after_loss[node]);
    head[node] = after_core[node] && draft.Is(node, Phase::kForward) && !loss[node];
  }
  const std::vector<bool> before_head = graph.Dependencies(head);
  for (uint32_t node = 0; node < draft.size(); ++node) {
    if (loss[node] || (side[node] && !before_head[node])) draft.Decide(node, Phase::kLoss);
  }
}

}  // namespace xlatrace::analysis::phases
