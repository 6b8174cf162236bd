// SPDX-License-Identifier: Apache-2.0
#include "analysis/phases/draft.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace xlatrace::analysis::phases {

using model::Instruction;
using model::kNoIndex;
using model::Phase;

bool IsCollective(std::string_view opcode) {
  static constexpr std::array<std::string_view, 8> kOpcodes = {
      "all-reduce",        "all-gather",         "reduce-scatter",       "all-to-all",
      "ragged-all-to-all", "collective-permute", "collective-broadcast", "all-reduce-scatter"};
  for (const std::string_view suffix : {"-start", "-done"}) {
    if (opcode.ends_with(suffix)) opcode.remove_suffix(suffix.size());
  }
  return std::find(kOpcodes.begin(), kOpcodes.end(), opcode) != kOpcodes.end();
}

bool IsContainer(std::string_view opcode) {
  return opcode == "while" || opcode == "conditional" || opcode == "call" || opcode == "fusion" ||
         opcode.starts_with("async-");
}

bool IsMatrixWork(std::string_view opcode) {
  return opcode == "dot" || opcode == "convolution" || opcode == "custom-call";
}

bool IsFloatingShape(std::string_view shape) {
  return shape.starts_with("f") || shape.starts_with("bf");
}

Draft::Draft(const ModuleGraph& graph, const std::vector<NodeFacts>& facts,
             const ModuleStyle& style, model::ModuleRole role)
    : graph_(graph),
      module_(graph.module()),
      facts_(facts),
      style_(style),
      role_(role),
      phases_(graph.size()),
      weak_(graph.size(), false) {
  FindInputs();
  TakeNames();
}

void Draft::FindInputs() {
  std::vector<bool> inputs(size(), false);
  for (uint32_t node = 0; node < size(); ++node) {
    const Instruction& self = At(node);
    inputs[node] = (self.opcode == "parameter" && self.computation == module_.entry) ||
                   self.opcode == "infeed" || self.opcode == "recv" || self.opcode == "rng";
  }
  from_inputs_ = graph_.Dependents(inputs);
}

void Draft::TakeNames() {
  for (uint32_t node = 0; node < size(); ++node) {
    const Instruction& self = At(node);
    const bool entry_parameter = self.opcode == "parameter" && self.computation == module_.entry;
    if (entry_parameter) {
      Decide(node, Phase::kOther);
    } else if (IsRematerialized(self.name)) {
      Decide(node, Phase::kRecompute);
    } else if (facts_[node].verdict.certainty != Certainty::kNone && self.opcode != "parameter" &&
               !RootHasName(self)) {
      Decide(node, facts_[node].verdict.phase);
      weak_[node] = facts_[node].verdict.certainty == Certainty::kWeak;
    }
  }
}

bool Draft::IsUnmarked(uint32_t node) const {
  if (!IsOpen(node) || Name(node).kind == OpName::Kind::kEmpty || NamesAnInput(node)) return false;
  const Instruction& self = At(node);
  if (IsContainer(self.opcode) || IsCollective(self.opcode)) return false;
  if (self.opcode == "parameter" || self.opcode == "tuple" || self.opcode == "get-tuple-element") {
    return false;
  }
  if (self.computation != kNoIndex && graph_.IsApplied(self.computation)) return false;
  return from_inputs_[node];  // Constants take the phase of their users.
}

// A fusion carries its root's name; the root speaks for itself.
bool Draft::RootHasName(const Instruction& self) const {
  if (self.opcode != "fusion") return false;
  const auto called = module_.CalledComputations(self);
  if (called.size() != 1 || called[0] >= module_.computations.size()) return false;
  const uint32_t root = module_.computations[called[0]].root;
  if (root == kNoIndex) return false;
  return Name(root).kind != OpName::Kind::kEmpty || module_.instructions[root].opcode == "tuple";
}

// XLA gives its copies and transposes of an argument the argument's name.
bool Draft::NamesAnInput(uint32_t node) const {
  return Name(node).kind == OpName::Kind::kArgument || Name(node).leaf == "XLA_Args";
}

std::set<Draft::Line> Draft::LinesOf(bool (*has)(Phase)) const {
  std::set<Line> lines;
  for (uint32_t node = 0; node < size(); ++node) {
    if (HasLine(node) && !IsOpen(node) && has(PhaseOf(node))) lines.insert(LineOf(node));
  }
  return lines;
}

std::vector<bool> Draft::Seeds(bool (*has)(Phase), bool only_from_inputs) const {
  std::vector<bool> seeds(size(), false);
  for (uint32_t node = 0; node < size(); ++node) {
    if (only_from_inputs && !from_inputs_[node]) continue;
    // An instruction that carries many values has the name of one of them. Data flows by element.
    const Instruction& self = At(node);
    const bool carrier = self.shape.starts_with("(") && IsContainer(self.opcode);
    if (carrier || IsCollective(self.opcode) || self.opcode == "tuple" ||
        self.opcode == "get-tuple-element") {
      continue;
    }
    seeds[node] = !IsOpen(node) && has(PhaseOf(node));
  }
  return seeds;
}

}  // namespace xlatrace::analysis::phases
