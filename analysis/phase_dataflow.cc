#include "analysis/phase_dataflow.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analysis/parameter_users.h"

namespace xlatrace::analysis {
namespace {

using model::Instruction;
using model::kNoIndex;
using model::ModuleRole;
using model::Phase;

bool IsForward(Phase phase) { return phase == Phase::kForward || phase == Phase::kLoss; }
bool IsGradient(Phase phase) { return phase == Phase::kBackward; }
bool IsBackward(Phase phase) { return phase == Phase::kBackward || phase == Phase::kRecompute; }

bool IsCollective(std::string_view opcode) {
  static constexpr std::array<std::string_view, 8> kOpcodes = {
      "all-reduce",        "all-gather",         "reduce-scatter",       "all-to-all",
      "ragged-all-to-all", "collective-permute", "collective-broadcast", "all-reduce-scatter"};
  for (const std::string_view suffix : {"-start", "-done"}) {
    if (opcode.ends_with(suffix)) opcode.remove_suffix(suffix.size());
  }
  return std::find(kOpcodes.begin(), kOpcodes.end(), opcode) != kOpcodes.end();
}

// Takes the label of what it contains: its own name is the same for all phases in old releases.
bool IsContainer(std::string_view opcode) {
  return opcode == "while" || opcode == "conditional" || opcode == "call" || opcode == "fusion" ||
         opcode.starts_with("async-");
}

bool IsMatrixWork(std::string_view opcode) {
  return opcode == "dot" || opcode == "convolution" || opcode == "custom-call";
}

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

// TensorFlow ops that losses and regularisers are written with, by node name.
bool MakesScalars(std::string_view leaf) {
  static constexpr std::array<std::string_view, 7> kStems = {
      "Square", "SquaredDifference", "Sum", "Mean", "L2Loss", "Pow", "pow"};
  return std::any_of(kStems.begin(), kStems.end(), [&](std::string_view stem) {
    return leaf == stem || (leaf.starts_with(stem) && leaf[stem.size()] == '_');
  });
}

// Decides in stages; each stage only touches what the stages before left open.
class Decider {
 public:
  Decider(const ModuleGraph& graph, const std::vector<NodeFacts>& facts, const ModuleStyle& style,
          ModuleRole role)
      : graph_(graph),
        module_(graph.module()),
        facts_(facts),
        style_(style),
        role_(role),
        size_(static_cast<uint32_t>(graph.size())),
        phases_(graph.size()),
        weak_(graph.size(), false) {}

  std::vector<NodePhase> Run() {
    TakeNames();
    const bool old_jax = style_.framework == Framework::kJax && style_.has_jit_main;
    const bool products = old_jax && FindProductGradients();
    FindRelations();
    // `add_any` alone does not make an old JAX module one in which phases can be told apart.
    const bool jax = style_.framework == Framework::kJax;
    if (!style_.has_backward && !products && (jax || !has_backward_)) {
      DecideModuleWithoutGradient();
    } else if (jax) {
      if (style_.MarksEverything()) {
        DecideUnmarkedJax();
      } else {
        DecideUnmarkedOldJax();
      }
      DecideLoss();
      DecideOldRemat();
    } else {
      DecideScopedTensorFlow();
      DecideUnscopedTensorFlow();
    }
    DecideContainers();
    DecideTupleElements();
    DecideCollectives();
    Propagate();
    LabelAppliedComputations();
    return std::move(phases_);
  }

 private:
  const Instruction& At(uint32_t node) const { return module_.instructions[node]; }
  const OpName& Name(uint32_t node) const { return *facts_[node].name; }
  Phase PhaseOf(uint32_t node) const { return phases_[node].phase; }
  bool IsOpen(uint32_t node) const { return phases_[node].origin == kNoIndex; }

  void Decide(uint32_t node, Phase phase) { phases_[node] = {phase, node}; }

  // A node whose own name should decide, but does not by itself.
  bool IsUnmarked(uint32_t node) const {
    if (!IsOpen(node) || Name(node).kind == OpName::Kind::kEmpty || NamesAnInput(node)) {
      return false;
    }
    const Instruction& self = At(node);
    if (IsContainer(self.opcode) || IsCollective(self.opcode)) return false;
    if (self.opcode == "parameter" || self.opcode == "tuple" ||
        self.opcode == "get-tuple-element") {
      return false;
    }
    if (self.computation != kNoIndex && graph_.IsApplied(self.computation)) return false;
    return from_inputs_[node];  // Constants are what their users are.
  }

  void TakeNames() {
    for (uint32_t node = 0; node < size_; ++node) {
      const Instruction& self = At(node);
      const bool entry_parameter = self.opcode == "parameter" && self.computation == module_.entry;
      if (entry_parameter) {
        Decide(node, Phase::kOther);
      } else if (self.name.find(".remat") != std::string_view::npos) {
        Decide(node, Phase::kRecompute);  // XLA's rematerialisation names its copies so.
      } else if (facts_[node].verdict.certainty != Certainty::kNone && self.opcode != "parameter" &&
                 !RootHasName(self)) {
        Decide(node, facts_[node].verdict.phase);
        weak_[node] = facts_[node].verdict.certainty == Certainty::kWeak;
      }
    }
  }

  using Line = std::pair<std::string_view, int32_t>;
  static bool HasLine(const Instruction& self) {
    return !self.metadata.source_file.empty() && self.metadata.source_line > 0;
  }
  static Line LineOf(const Instruction& self) {
    return {self.metadata.source_file, self.metadata.source_line};
  }

  // In old releases nothing marks the gradient of code outside of all scopes, but products give it
  // away: the gradient of dot(x, w) by w is another product with x, of something that was made of
  // the first one's result, and it has its source line. What a loop unrolled in Python makes of one
  // line has the shared operand in the same place with the same dimensions contracted, and
  // (x @ w) @ w.T uses the first one's result as it is: neither is one. In a module that nothing
  // else says to have gradients, one line alone is no proof. True where one was found.
  bool FindProductGradients() {
    std::map<std::pair<Line, uint32_t>, std::vector<std::pair<uint32_t, size_t>>> by_operand;
    for (uint32_t node = 0; node < size_; ++node) {
      const Instruction& self = At(node);
      if (!IsOpen(node) || !IsMatrixWork(self.opcode) || !HasLine(self)) continue;
      const auto operands = module_.Operands(self);
      if (Name(node).kind == OpName::Kind::kEmpty || operands.size() < 2) continue;
      for (size_t place = 0; place < 2; ++place) {
        by_operand[{LineOf(self), Carried(operands[place])}].emplace_back(node, place);
      }
    }
    int64_t budget = 20'000'000;  // Pairs and visited nodes; what is left out stays undecided.
    std::vector<uint32_t> forward, backward;
    std::set<Line> lines;
    for (const auto& [key, uses] : by_operand) {
      for (const auto& [product, place] : uses) {
        for (const auto& [gradient, other_place] : uses) {
          if (--budget <= 0) break;
          if (product == gradient) continue;
          if (place == other_place && !DiffersFrom(product, gradient, place)) continue;
          const uint32_t cotangent = module_.Operands(At(gradient))[1 - other_place];
          if (Carried(cotangent) == product || !DependsOn(cotangent, product, &budget)) continue;
          forward.push_back(product);
          backward.push_back(gradient);
          lines.insert(key.first);
        }
        if (budget <= 0) break;
      }
      if (budget <= 0) break;
    }
    if (!style_.has_backward && lines.size() < 2 && !MayHideGradients()) return false;
    for (const uint32_t node : forward) {
      Decide(node, Phase::kForward);
      weak_[node] = true;
    }
    for (const uint32_t node : backward) Decide(node, Phase::kBackward);
    return !backward.empty();
  }

  // What an operand is but for its layout and type.
  uint32_t Carried(uint32_t node) const {
    while (true) {
      const std::string_view opcode = At(node).opcode;
      const auto operands = module_.Operands(At(node));
      if (operands.size() != 1 || (opcode != "bitcast" && opcode != "copy" && opcode != "convert" &&
                                   opcode != "reshape" && opcode != "transpose")) {
        return node;
      }
      node = operands[0];
    }
  }

  // Of two products that share an operand in the same place. The gradient of a convolution by its
  // kernel has the input in front, as the convolution has; the kernel shares no place with it.
  bool DiffersFrom(uint32_t a, uint32_t b, size_t place) const {
    if (At(a).opcode == "convolution") return place == 0;
    const auto left = module_.LhsContractingDims(At(a)), right = module_.LhsContractingDims(At(b));
    return !std::equal(left.begin(), left.end(), right.begin(), right.end());
  }

  bool DependsOn(uint32_t node, uint32_t on, int64_t* budget) const {
    std::vector<uint32_t> open = {node};
    std::unordered_set<uint32_t> seen = {node};
    while (!open.empty() && --*budget > 0) {
      const uint32_t at = open.back();
      open.pop_back();
      if (at == on) return true;
      // Operands come before their users.
      if (at < on && At(at).computation == At(on).computation) continue;
      for (const uint32_t operand : graph_.Operands(at)) {
        if (seen.insert(operand).second) open.push_back(operand);
      }
    }
    return false;
  }

  // A fusion carries its root's name; the root speaks for itself.
  bool RootHasName(const Instruction& self) const {
    if (self.opcode != "fusion") return false;
    const auto called = module_.CalledComputations(self);
    if (called.size() != 1 || called[0] >= module_.computations.size()) return false;
    const uint32_t root = module_.computations[called[0]].root;
    if (root == kNoIndex) return false;
    return Name(root).kind != OpName::Kind::kEmpty || module_.instructions[root].opcode == "tuple";
  }

  // XLA names what it does to an argument (copy, transpose) like the argument.
  bool NamesAnInput(uint32_t node) const {
    return Name(node).kind == OpName::Kind::kArgument || Name(node).leaf == "XLA_Args";
  }

  // Nodes with what the predicate says, and that depend on an input of the program: constants that
  // XLA shares between phases carry one phase's name into all others.
  template <typename Predicate>
  std::vector<bool> Seeds(Predicate predicate, bool only_from_inputs) const {
    std::vector<bool> seeds(size_, false);
    for (uint32_t node = 0; node < size_; ++node) {
      if (only_from_inputs && !from_inputs_[node]) continue;
      // What carries many things has the name of one of them; data flows through it by element.
      const Instruction& self = At(node);
      const bool carrier = self.shape.starts_with("(") && IsContainer(self.opcode);
      if (carrier || IsCollective(self.opcode) || self.opcode == "tuple" ||
          self.opcode == "get-tuple-element") {
        continue;
      }
      seeds[node] = !IsOpen(node) && predicate(PhaseOf(node));
    }
    return seeds;
  }

  void FindRelations() {
    std::vector<bool> inputs(size_, false);
    for (uint32_t node = 0; node < size_; ++node) {
      const Instruction& self = At(node);
      inputs[node] = (self.opcode == "parameter" && self.computation == module_.entry) ||
                     self.opcode == "infeed" || self.opcode == "recv" || self.opcode == "rng";
    }
    from_inputs_ = graph_.Dependents(inputs);
    after_forward_ = graph_.Dependents(Seeds(IsForward, true));
    before_forward_ = graph_.Dependencies(Seeds(IsForward, false));
    // In an old `remat/`, what the forward pass uses is the op that the recomputation repeats; XLA
    // has merged the two. It carries no gradient.
    for (uint32_t node = 0; node < size_; ++node) {
      if (!IsOpen(node) && Name(node).remat && PhaseOf(node) == Phase::kBackward &&
          before_forward_[node]) {
        Decide(node, Phase::kRecompute);
      }
    }
    const std::vector<bool> gradients = Seeds(IsGradient, true);
    has_backward_ = std::find(gradients.begin(), gradients.end(), true) != gradients.end();
    after_backward_ = graph_.Dependents(gradients);
    before_backward_ = graph_.Dependencies(Seeds(IsBackward, false));
    before_layers_ =
        graph_.Dependencies(Seeds([](Phase phase) { return phase == Phase::kForward; }, false));
  }

  // ---- No gradient in the module -------------------------------------------------------------

  // In old releases a training step without any scope looks like this, too: its transforms had
  // nothing to wrap.
  bool MayHideGradients() const {
    if (!style_.has_jit_main) return false;
    for (uint32_t node = 0; node < size_; ++node) {
      if (Name(node).leaf == "add_any" || facts_[node].source.optimizer) return true;
      const std::string& function = Name(node).function;
      if (function.find("train") != function.npos || function.find("grad") != function.npos) {
        return true;
      }
    }
    return false;
  }

  void DecideModuleWithoutGradient() {
    // TensorFlow's auto-clustering cuts a step into modules; each may be all forward.
    const bool cluster = module_.name.starts_with("cluster_");
    Phase rest = Phase::kForward;
    bool update = false;
    for (uint32_t node = 0; node < size_; ++node) {
      update |= IsUpdateFunction(Name(node).function) ||
                (role_ == ModuleRole::kMain && Name(node).function.ends_with("_update"));
    }
    bool products = false;
    for (uint32_t node = 0; node < size_; ++node) products |= IsMatrixWork(At(node).opcode);
    if (update && (role_ == ModuleRole::kHelper || (role_ == ModuleRole::kMain && !products))) {
      rest = Phase::kOptimizer;
    } else if (role_ != ModuleRole::kMain && !(cluster && role_ == ModuleRole::kHelper)) {
      rest = Phase::kOther;
    } else if (MayHideGradients()) {
      rest = Phase::kUnknown;
    }
    for (uint32_t node = 0; node < size_; ++node) {
      const bool weak = facts_[node].verdict.certainty == Certainty::kWeak;
      const bool helper_forward = weak && rest == Phase::kOther && PhaseOf(node) == Phase::kForward;
      if (IsUnmarked(node) || helper_forward) Decide(node, rest);
    }
  }

  // ---- JAX -----------------------------------------------------------------------------------

  // What leads to a result that is more than a number to look at: an array, or a counter.
  std::vector<bool> BeforeState() const {
    std::vector<bool> state(size_, false);
    const std::vector<bool> all(size_, true);  // Nothing is known of the results.
    if (module_.entry >= module_.computations.size()) return all;
    const uint32_t root = module_.computations[module_.entry].root;
    if (root == kNoIndex || At(root).opcode != "tuple") return all;
    const auto is_state = [&](uint32_t node) {
      const std::string_view shape = At(node).shape;
      return !IsScalarShape(shape) || !(shape.starts_with("f") || shape.starts_with("bf"));
    };
    for (const uint32_t result : module_.Operands(At(root))) state[result] = is_state(result);
    std::vector<bool> before = graph_.Dependencies(state);
    for (uint32_t node = 0; node < size_; ++node) before[node] = before[node] || state[node];
    return before;
  }

  // What marked work uses stays open: it is hoisted out of a loop and gets its user's phase.
  void DecideUnmarkedJax() {
    const std::vector<bool> before_state = BeforeState();
    for (uint32_t node = 0; node < size_; ++node) {
      if (!IsUnmarked(node) || before_forward_[node] || before_backward_[node]) continue;
      const bool metrics = !after_backward_[node] && (after_forward_[node] || !before_state[node]);
      Decide(node, metrics ? Phase::kOther : Phase::kOptimizer);
    }
  }

  // Scalars that depend on forward work alone and lead nowhere: the loss, and metrics.
  std::vector<bool> BeforeLossValue() const {
    std::vector<bool> values(size_, false);
    for (uint32_t node = 0; node < size_; ++node) {
      values[node] = IsUnmarked(node) && after_forward_[node] && !after_backward_[node] &&
                     !before_forward_[node] && !before_backward_[node] &&
                     IsScalarShape(At(node).shape);
    }
    std::vector<bool> before = graph_.Dependencies(values);
    for (uint32_t node = 0; node < size_; ++node) before[node] = before[node] || values[node];
    return before;
  }

  std::set<Line> LinesOf(bool (*has)(Phase)) const {
    std::set<Line> lines;
    for (uint32_t node = 0; node < size_; ++node) {
      if (HasLine(At(node)) && !IsOpen(node) && has(PhaseOf(node))) lines.insert(LineOf(At(node)));
    }
    return lines;
  }

  // Between the last layer and the first gradient: what depends on no other line than those of the
  // layers is still forward. All true where the loss has no line of its own.
  std::vector<bool> AfterTheTurn(const std::set<Line>& forward_lines) const {
    std::vector<bool> turns(size_, false);
    for (uint32_t node = 0; node < size_; ++node) {
      turns[node] = IsUnmarked(node) && after_forward_[node] && !before_forward_[node] &&
                    before_backward_[node] && HasLine(At(node)) &&
                    !forward_lines.contains(LineOf(At(node)));
    }
    if (std::find(turns.begin(), turns.end(), true) == turns.end()) {
      return std::vector<bool>(size_, true);
    }
    std::vector<bool> after = graph_.Dependents(turns);
    for (uint32_t node = 0; node < size_; ++node) after[node] = after[node] || turns[node];
    return after;
  }

  void DecideUnmarkedOldJax() {
    // First what leads to marked work or to the loss; that may add to the backward work that the
    // rest is judged by.
    const std::vector<bool> before_loss = BeforeLossValue();
    const std::vector<bool> after_turn = AfterTheTurn(LinesOf(IsForward));
    std::vector<std::pair<uint32_t, Phase>> decided;
    for (uint32_t node = 0; node < size_; ++node) {
      if (!IsUnmarked(node)) continue;
      const Phase phase = LeadingInOldJax(node, before_loss, after_turn);
      if (phase != Phase::kUnknown) decided.emplace_back(node, phase);
    }
    for (const auto& [node, phase] : decided) {
      Decide(node, phase);
      weak_[node] = phase == Phase::kForward;
    }
    after_backward_ = graph_.Dependents(Seeds(IsGradient, true));
    const std::set<Line> forward_lines = LinesOf(IsForward);
    for (uint32_t node = 0; node < size_; ++node) {
      if (!IsUnmarked(node)) continue;
      const bool gradient = after_forward_[node] || after_backward_[node];
      const bool forward_line = forward_lines.contains(LineOf(At(node)));
      Decide(node, gradient && forward_line ? Phase::kBackward : Phase::kOptimizer);
    }
  }

  Phase LeadingInOldJax(uint32_t node, const std::vector<bool>& before_loss,
                        const std::vector<bool>& after_turn) const {
    const bool after_backward = after_backward_[node];
    if (before_forward_[node]) return after_backward ? Phase::kBackward : Phase::kForward;
    if (facts_[node].source.loss) {
      return after_backward || !before_loss[node] ? Phase::kBackward : Phase::kLoss;
    }
    if (before_backward_[node]) {
      if (after_backward) return Phase::kBackward;
      if (after_forward_[node] && !before_loss[node] && after_turn[node]) return Phase::kBackward;
      return Phase::kForward;
    }
    if (before_loss[node]) return style_.has_loss_scope ? Phase::kOther : Phase::kForward;
    return Phase::kUnknown;
  }

  // Unscoped differentiated ops behind the model.
  void DecideLoss() {
    std::vector<bool> core(size_, false);  // Layers and matrix products of the forward pass.
    for (uint32_t node = 0; node < size_; ++node) {
      if (IsOpen(node) || PhaseOf(node) != Phase::kForward || !from_inputs_[node]) continue;
      core[node] = !Name(node).scopes.empty() || IsMatrixWork(At(node).opcode);
    }
    const std::vector<bool> before_core = graph_.Dependencies(core);
    const std::vector<bool> after_core = graph_.Dependents(core);
    // Derivatives of a layer's last line, made for the backward pass, are no loss.
    std::set<Line> product_lines;
    std::vector<bool> values(size_, false);
    bool any = false;
    for (uint32_t node = 0; node < size_; ++node) {
      any |= core[node];
      if (core[node] && IsMatrixWork(At(node).opcode) && HasLine(At(node))) {
        product_lines.insert(LineOf(At(node)));
      }
      values[node] = !IsOpen(node) && IsForward(PhaseOf(node)) && IsScalarShape(At(node).shape);
    }
    const std::vector<bool> before_value = graph_.Dependencies(values);
    std::vector<bool> tail(size_, false);  // Behind the model.
    std::vector<bool> side(size_, false);  // Beside it: labels, regularisers, a last bias.
    std::vector<bool> loss(size_, false);
    for (uint32_t node = 0; node < size_; ++node) {
      if (IsOpen(node) || PhaseOf(node) != Phase::kForward || core[node]) continue;
      if (!weak_[node] || Name(node).loop || At(node).opcode == "while") continue;
      if (!any || before_core[node] || !from_inputs_[node] || facts_[node].source.layer ||
          IsRandom(Name(node))) {
        continue;
      }
      const bool layer_line = HasLine(At(node)) && product_lines.contains(LineOf(At(node)));
      if (after_core[node]) {
        tail[node] = !layer_line || before_value[node] || values[node];
        loss[node] =
            tail[node] && (facts_[node].source.loss_function || !MayBelongToHead(Name(node).leaf));
      } else {
        side[node] = !layer_line && Name(node).leaf != "while" && Name(node).leaf != "cond";
      }
    }
    const std::vector<bool> after_loss = graph_.Dependents(loss);
    std::vector<bool> head(size_, false);
    for (uint32_t node = 0; node < size_; ++node) {
      loss[node] = loss[node] || (tail[node] && after_loss[node]);
      head[node] =
          after_core[node] && !IsOpen(node) && PhaseOf(node) == Phase::kForward && !loss[node];
    }
    const std::vector<bool> before_head = graph_.Dependencies(head);
    for (uint32_t node = 0; node < size_; ++node) {
      if (loss[node] || (side[node] && !before_head[node])) Decide(node, Phase::kLoss);
    }
  }

  // `transpose(jvp(L))/remat/` until 0.4.2x holds recomputation and backward alike: what does not
  // depend on a cotangent is recomputation.
  void DecideOldRemat() {
    std::vector<bool> cotangents(size_, false);
    bool any = false;
    for (uint32_t node = 0; node < size_; ++node) {
      any |= !IsOpen(node) && Name(node).remat;
      cotangents[node] = !IsOpen(node) && PhaseOf(node) == Phase::kBackward && !Name(node).remat &&
                         from_inputs_[node];
    }
    if (!any) return;
    const std::vector<bool> after = graph_.Dependents(cotangents);
    for (uint32_t node = 0; node < size_; ++node) {
      if (IsOpen(node) || !Name(node).remat || PhaseOf(node) != Phase::kBackward) continue;
      if (!after[node] && from_inputs_[node]) Decide(node, Phase::kRecompute);
    }
  }

  // ---- TensorFlow ----------------------------------------------------------------------------

  void DecideScopedTensorFlow() {
    std::vector<bool> outputs(size_, false);
    if (module_.entry < module_.computations.size() &&
        module_.computations[module_.entry].root != kNoIndex) {
      outputs[module_.computations[module_.entry].root] = true;
    }
    const std::vector<bool> before_output = graph_.Dependencies(outputs);
    std::vector<uint32_t> recomputed;
    std::vector<uint32_t> updates;
    for (uint32_t node = 0; node < size_; ++node) {
      const bool scoped_forward = facts_[node].verdict.certainty == Certainty::kWeak &&
                                  facts_[node].verdict.phase == Phase::kForward;
      if (!scoped_forward || !after_backward_[node]) continue;
      // What nothing uses is recomputed, too: an update would be an output.
      const bool update = !before_backward_[node] && before_output[node];
      (update ? updates : recomputed).push_back(node);
    }
    for (const uint32_t node : recomputed) Decide(node, Phase::kRecompute);
    for (const uint32_t node : updates) Decide(node, Phase::kOptimizer);
  }

  void DecideUnscopedTensorFlow() {
    std::vector<std::pair<uint32_t, Phase>> decided;
    for (uint32_t node = 0; node < size_; ++node) {
      if (IsUnmarked(node)) decided.emplace_back(node, UnscopedTensorFlow(node));
    }
    for (const auto& [node, phase] : decided) Decide(node, phase);
  }

  Phase UnscopedTensorFlow(uint32_t node) const {
    const Instruction& self = At(node);
    if (after_backward_[node]) {
      return before_backward_[node] ? Phase::kBackward : Phase::kOptimizer;
    }
    if (before_layers_[node]) return Phase::kForward;
    const bool floating = self.shape.starts_with("f") || self.shape.starts_with("bf");
    const bool lossy =
        !IsMatrixWork(self.opcode) &&
        (after_forward_[node] || before_forward_[node] || MakesScalars(Name(node).leaf));
    if (before_forward_[node] || before_backward_[node]) {
      return lossy ? Phase::kLoss : Phase::kForward;
    }
    if (after_forward_[node]) {  // Metrics, or the loss where it has no scope.
      return style_.has_loss_scope || !floating ? Phase::kOther : Phase::kLoss;
    }
    // `iterations += 1`, and a regulariser's sum of squares; what is left are metrics' counters.
    if (self.shape.starts_with("s64[]")) return Phase::kOptimizer;
    return floating && from_inputs_[node] ? Phase::kLoss : Phase::kOther;
  }

  // ---- What has no name of its own -----------------------------------------------------------

  // Loops, branches and calls are what most of their instructions are; a fusion is its root here
  // (callers of this file weigh its body).
  void DecideContainers() {
    for (uint32_t node = 0; node < size_; ++node) {
      const Instruction& self = At(node);
      if (!IsOpen(node) || !IsContainer(self.opcode)) continue;
      std::array<int64_t, 7> votes{};
      std::array<uint32_t, 7> example{};
      for (const uint32_t called : module_.CalledComputations(self)) {
        if (called >= module_.computations.size()) continue;
        const model::Computation& body = module_.computations[called];
        // A fusion with one result is its root; with several, and in all else, the majority.
        const bool root_only = self.opcode == "fusion" && !self.shape.starts_with("(");
        for (uint32_t i = 0; i < body.instruction_count; ++i) {
          const uint32_t inner = body.first_instruction + i;
          if (IsOpen(inner) || (root_only && inner != body.root)) continue;
          const auto phase = static_cast<size_t>(PhaseOf(inner));
          if (votes[phase]++ == 0) example[phase] = inner;
        }
      }
      const auto most = std::max_element(votes.begin(), votes.end());
      if (*most == 0) continue;
      phases_[node] = phases_[example[static_cast<size_t>(most - votes.begin())]];
    }
  }

  void DecideTupleElements() {
    for (uint32_t node = 0; node < size_; ++node) {
      if (!IsOpen(node) || At(node).opcode != "get-tuple-element") continue;
      const auto sources = graph_.Operands(node);
      if (sources.size() == 1 && !IsOpen(sources[0]) && At(sources[0]).opcode != "parameter") {
        phases_[node] = phases_[sources[0]];
      }
    }
  }

  // A collective without a mark that carries gradients serves the backward pass.
  void DecideCollectives() {
    for (uint32_t node = 0; node < size_; ++node) {
      if (!IsOpen(node) || !IsCollective(At(node).opcode)) continue;
      std::vector<uint32_t> open = {node};
      std::set<uint32_t> seen = {node};
      while (!open.empty() && seen.size() < 1000) {
        const uint32_t at = open.back();
        open.pop_back();
        for (const uint32_t operand : graph_.Operands(at)) {
          if (!seen.insert(operand).second) continue;
          if (IsOpen(operand)) {
            open.push_back(operand);
          } else if (PhaseOf(operand) == Phase::kBackward) {
            phases_[node] = {Phase::kBackward, operand};
          }
        }
      }
    }
  }

  // Nearest user first, then nearest operand. Parameters of the program and applied computations
  // pass nothing on.
  void Propagate() {
    std::vector<uint32_t> queue;
    const auto start = [&] {
      queue.clear();
      for (uint32_t node = 0; node < size_; ++node) {
        const bool entry_parameter =
            At(node).opcode == "parameter" && At(node).computation == module_.entry;
        if (!IsOpen(node) && !entry_parameter) queue.push_back(node);
      }
    };
    const auto pass_on = [&](uint32_t from, std::span<const uint32_t> to) {
      for (const uint32_t node : to) {
        if (!IsOpen(node)) continue;
        phases_[node] = phases_[from];
        queue.push_back(node);
      }
    };
    start();
    for (size_t i = 0; i < queue.size(); ++i) pass_on(queue[i], graph_.Operands(queue[i]));
    start();
    for (size_t i = 0; i < queue.size(); ++i) pass_on(queue[i], graph_.Users(queue[i]));
    // What is left has neither to do with any named op: inputs that are handed through. In a main
    // module without names nothing is known at all.
    if (queue.empty() && role_ == ModuleRole::kMain) return;
    for (uint32_t node = 0; node < size_; ++node) {
      if (IsOpen(node)) phases_[node].phase = Phase::kOther;
    }
  }

  // `add` of a reduce: what calls it.
  void LabelAppliedComputations() {
    for (uint32_t c = 0; c < module_.computations.size(); ++c) {
      if (!graph_.IsApplied(c)) continue;
      const model::Computation& computation = module_.computations[c];
      const NodePhase caller = phases_[graph_.Callers(c).front()];
      for (uint32_t i = 0; i < computation.instruction_count; ++i) {
        phases_[computation.first_instruction + i] = caller;
      }
    }
  }

  const ModuleGraph& graph_;
  const model::HloModule& module_;
  const std::vector<NodeFacts>& facts_;
  const ModuleStyle& style_;
  const ModuleRole role_;
  const uint32_t size_;
  std::vector<NodePhase> phases_;
  std::vector<bool> weak_;  // Decided, but a later stage may know better.

  std::vector<bool> from_inputs_;
  bool has_backward_ = false;
  std::vector<bool> after_forward_;  // Depends on forward or loss work.
  std::vector<bool> after_backward_;
  std::vector<bool> before_forward_;  // Forward or loss work depends on it.
  std::vector<bool> before_backward_;
  std::vector<bool> before_layers_;  // Forward work proper, loss excluded.
};

}  // namespace

std::vector<NodePhase> DecidePhases(const ModuleGraph& graph, const std::vector<NodeFacts>& facts,
                                    const ModuleStyle& style, ModuleRole role) {
  return Decider(graph, facts, style, role).Run();
}

}  // namespace xlatrace::analysis
