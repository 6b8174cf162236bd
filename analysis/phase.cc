// SPDX-License-Identifier: Apache-2.0
#include "analysis/phase.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string>

#include "base/text.h"

namespace xlatrace::analysis {
namespace {

using model::Phase;

bool AnyScope(const OpName& name, bool (*test)(std::string_view)) {
  return std::any_of(name.scopes.begin(), name.scopes.end(),
                     [&](const std::string& scope) { return test(scope); });
}

constexpr NameVerdict Sure(Phase phase) { return {phase, Certainty::kSure}; }
constexpr NameVerdict Weak(Phase phase) { return {phase, Certainty::kWeak}; }

// Nonlinear primitives: differentiation's transposition only makes linear ones, so inside a
// transposed `remat` these are the recomputation.
bool IsNeverTransposed(std::string_view leaf) {
  static constexpr std::array<std::string_view, 22> kNonlinear = {
      "tanh", "exp",         "log",     "rsqrt",    "sqrt",       "sin",    "cos",
      "erf",  "log1p",       "expm1",   "logistic", "reduce_max", "max",    "custom_jvp_call",
      "pow",  "integer_pow", "erf_inv", "erfc",     "exp2",       "argmax", "reduce_min",
      "min"};
  return std::find(kNonlinear.begin(), kNonlinear.end(), leaf) != kNonlinear.end();
}

NameVerdict JaxPhase(const OpName& name, const ModuleStyle& style, const SourceHint& source) {
  if (name.rematted) return Sure(Phase::kRecompute);
  if (name.transpose) {
    if (!name.remat) return Sure(Phase::kBackward);
    return IsNeverTransposed(name.leaf) ? Sure(Phase::kRecompute) : Weak(Phase::kBackward);
  }
  if (name.jvp) {
    if (source.loss || AnyScope(name, IsLossScope)) return Sure(Phase::kLoss);
    return name.scopes.empty() ? Weak(Phase::kForward) : Sure(Phase::kForward);
  }
  if (name.kind == OpName::Kind::kPath && name.checkpoint) return Sure(Phase::kBackward);
  if (source.optimizer || AnyScope(name, IsOptimizerScope)) return Sure(Phase::kOptimizer);
  if (name.leaf == "add_any") return Sure(Phase::kBackward);  // Only differentiation adds so.
  if (!style.has_backward && AnyScope(name, IsLossScope)) return Weak(Phase::kLoss);
  return {};
}

bool IsMovingAverage(const OpName& name) {
  return name.leaf.starts_with("AssignMovingAvg") ||
         std::any_of(name.scopes.begin(), name.scopes.end(),
                     [](const std::string& scope) { return scope.starts_with("AssignMovingAvg"); });
}

bool IsUpdateOpType(std::string_view op_type) {
  return op_type.starts_with("ResourceApply") || op_type.starts_with("ResourceSparseApply") ||
         op_type.starts_with("ResourceScatter") || op_type.starts_with("Apply") ||
         op_type.starts_with("SparseApply") || op_type == "AssignSubVariableOp";
}

bool IsTrainingScope(std::string_view component) {
  const std::string lower = Lower(component);
  return Has(lower, "update") || Has(lower, "optimizer") || Has(lower, "train_op");
}

NameVerdict TensorFlowPhase(const OpName& name, std::string_view op_type) {
  if (name.leaf == "XLA_Args" || name.leaf == "XLA_Retvals") return Sure(Phase::kOther);
  if (name.gradient) {
    // TensorFlow names values that the forward loop saves for the backward loop after the latter.
    return Sure(name.leaf == "accumulator" ? Phase::kForward : Phase::kBackward);
  }
  if (!name.scopes.empty() && (IsOptimizerScope(name.scopes.front()) ||
                               (name.scopes.front() == "training" && name.scopes.size() > 1))) {
    return Sure(Phase::kOptimizer);
  }
  if (IsUpdateOpType(op_type) && !IsMovingAverage(name)) return Sure(Phase::kOptimizer);
  if (name.scopes.empty() && WithoutNumber(name.leaf) == "AddN") return Sure(Phase::kBackward);
  if (name.grad_component) return Sure(Phase::kBackward);
  // Outside of Keras the op itself shows it. L2Loss does not, because clipping by a norm uses it
  // too.
  if (AnyScope(name, IsLossScope) || Has(name.leaf, "cross_entropy")) {
    return Sure(Phase::kLoss);
  }
  if (name.scopes.empty()) return {};
  if (AnyScope(name, IsTrainingScope)) return Sure(Phase::kOptimizer);
  return Weak(Phase::kForward);
}

NameVerdict TorchPhase(const OpName& name, std::string_view op_type) {
  if (Has(op_type, "backward") || Has(name.leaf, "backward")) {
    return Sure(Phase::kBackward);
  }
  if (AnyScope(name, IsOptimizerScope)) return Sure(Phase::kOptimizer);
  if (Has(op_type, "loss")) return Sure(Phase::kLoss);
  return Weak(Phase::kForward);
}

}  // namespace

bool IsKerasNumbered(const std::vector<OpName>& names) {
  std::map<std::string_view, std::string_view> firsts;  // Without the number -> with it.
  for (const OpName& name : names) {
    if (name.kind != OpName::Kind::kPath || name.scopes.empty() || name.grad_component) continue;
    const std::string& first = name.scopes.front();
    if (IsOptimizerScope(first) || IsLossScope(first) || IsTrainingScope(first)) continue;
    // The tape also names gradients of ops without a scope; their first component is an op.
    if (name.gradient && name.scopes.size() < 2) continue;
    const std::string_view plain = WithoutNumber(first);
    // Numbers that make names unique start at 1.
    if (plain == first || first.substr(plain.size()) == "_0") return false;
    const auto [at, fresh] = firsts.try_emplace(plain, first);
    if (!fresh && at->second != first) return false;
  }
  return !firsts.empty();
}

bool IsLossScope(std::string_view component) {
  static constexpr std::array<std::string_view, 13> kKerasLosses = {
      "mean_squared_error",
      "mse",
      "mean_absolute_error",
      "mae",
      "huber",
      "hinge",
      "squared_hinge",
      "kl_divergence",
      "log_cosh",
      "xent",
      "nll",
      "mean_squared_logarithmic_error",
      "mean_absolute_percentage_error"};
  const std::string lower = Lower(component);
  return Has(lower, "loss") || Has(lower, "crossentropy") || Has(lower, "cross_entropy") ||
         Has(lower, "regularizer") ||
         std::find(kKerasLosses.begin(), kKerasLosses.end(), WithoutNumber(lower)) !=
             kKerasLosses.end();
}

bool IsOptimizerScope(std::string_view component) {
  static constexpr std::array<std::string_view, 30> kNames = {"adam",
                                                              "adamw",
                                                              "adam_w",
                                                              "adamax",
                                                              "nadam",
                                                              "radam",
                                                              "sgd",
                                                              "rmsprop",
                                                              "rm_sprop",
                                                              "adagrad",
                                                              "adadelta",
                                                              "adafactor",
                                                              "ftrl",
                                                              "lamb",
                                                              "lars",
                                                              "lion",
                                                              "muon",
                                                              "shampoo",
                                                              "momentum",
                                                              "optimizer",
                                                              "optax",
                                                              "opt_update",
                                                              "apply_updates",
                                                              "adan",
                                                              "optimizer_update",
                                                              "apply_gradients",
                                                              "update_params",
                                                              "apply_optimizer",
                                                              "lossscaleoptimizer",
                                                              "loss_scale_optimizer"};
  const std::string lower = Lower(component);
  return std::find(kNames.begin(), kNames.end(), WithoutNumber(lower)) != kNames.end();
}

bool IsUpdateFunction(std::string_view function) {
  static constexpr std::array<std::string_view, 8> kNames = {
      "update",        "apply_gradients", "apply_updates",    "opt_update",
      "update_params", "update_fn",       "optimizer_update", "apply_update"};
  const std::string lower = Lower(function);
  const std::string_view stripped =
      std::string_view(lower).substr(std::min(lower.find_first_not_of('_'), lower.size()));
  return std::find(kNames.begin(), kNames.end(), stripped) != kNames.end() ||
         Has(lower, "optimizer");
}

ModuleStyle StyleOf(std::string_view module_name, const std::vector<OpName>& names,
                    const std::vector<std::string_view>& op_types) {
  ModuleStyle style;
  bool rooted = false;
  bool tensorflow = module_name.starts_with("a_inference_") || module_name.starts_with("cluster_");
  for (const OpName& name : names) {
    rooted |= name.kind == OpName::Kind::kRooted;
    tensorflow |= name.leaf == "XLA_Args" || name.leaf == "XLA_Retvals" || name.gradient;
    style.has_jvp |= name.jvp;
    style.has_backward |= name.transpose || name.rematted || name.gradient;
    style.has_jit_main |= name.jit_main;
    style.has_layers |= name.jvp && !name.scopes.empty() && !AnyScope(name, IsLossScope);
    style.has_loss_scope |= AnyScope(name, IsLossScope);
  }
  const bool torch = std::any_of(op_types.begin(), op_types.end(), [](std::string_view op_type) {
    return op_type.starts_with("aten__") || op_type.starts_with("xla__");
  });
  if (rooted || style.has_jvp || module_name.starts_with("jit_") ||
      module_name.starts_with("pmap_") || module_name.starts_with("pjit_")) {
    style.framework = Framework::kJax;
  } else if (tensorflow) {
    style.framework = Framework::kTensorFlow;
  } else if (torch) {
    style.framework = Framework::kTorch;
  }
  style.keras_numbered = style.framework == Framework::kTensorFlow && IsKerasNumbered(names);
  return style;
}

bool IsLayerFile(std::string_view file) {
  static constexpr std::array<std::string_view, 5> kFolders = {
      "/flax/linen/", "/flax/nnx/", "/haiku/_src/", "/equinox/nn/", "/keras/src/layers/"};
  return std::any_of(kFolders.begin(), kFolders.end(),
                     [&](std::string_view folder) { return Has(file, folder); }) &&
         !Has(file, "loss");
}

SourceHint HintFromSource(const model::HloModule& module, const model::OpMetadata& metadata) {
  SourceHint hint;
  const auto look_at = [&](std::string_view file) {
    if (const size_t optax = file.find("optax/"); optax != file.npos) {
      const bool loss = Has(file.substr(optax), "loss");
      hint.loss |= loss;
      hint.optimizer |= !loss;
    }
    hint.optimizer |= file.ends_with("optimizer.py") || file.ends_with("optimizers.py") ||
                      Has(file, "/optimizers/");
  };
  look_at(metadata.source_file);
  hint.layer = IsLayerFile(metadata.source_file);
  bool innermost = true;
  uint32_t frame = metadata.stack_frame;
  // Parents are smaller than their children by contract; the check keeps a broken table from
  // holding us.
  while (frame > 0 && frame <= module.stack_frames.size()) {
    const model::StackFrame& at = module.stack_frames[frame - 1];
    look_at(at.file);
    if (innermost) {
      hint.loss_function = IsLossScope(at.function);
      hint.layer |= IsLayerFile(at.file);
    }
    innermost = false;
    if (at.parent >= frame) break;
    frame = at.parent;
  }
  return hint;
}

NameVerdict PhaseByName(const OpName& name, std::string_view op_type, const ModuleStyle& style,
                        const SourceHint& source) {
  if (name.kind == OpName::Kind::kArgument) return Sure(Phase::kOther);
  if (name.kind == OpName::Kind::kEmpty) return {};
  switch (style.framework) {
    case Framework::kJax:
      return JaxPhase(name, style, source);
    case Framework::kTorch:
      return TorchPhase(name, op_type);
    case Framework::kTensorFlow:
    case Framework::kUnknown:
      break;
  }
  return TensorFlowPhase(name, op_type);
}

}  // namespace xlatrace::analysis
