// SPDX-License-Identifier: Apache-2.0

// The phases of one module during their decision: the evidence of each instruction, the decisions
// so far, and queries that all stages share.
//
// The stages are the other files of this folder; analysis/phase_dataflow.cc runs them in order.
// Each stage decides undecided instructions and may replace weak decisions of earlier stages.
//
// Not thread-safe. Borrows the arguments of its constructor.

#ifndef XLATRACE_ANALYSIS_PHASES_DRAFT_H_
#define XLATRACE_ANALYSIS_PHASES_DRAFT_H_

#include <cstdint>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/module_graph.h"
#include "analysis/op_name.h"
#include "analysis/phase.h"
#include "analysis/phase_dataflow.h"
#include "model/hlo_module.h"
#include "model/words.h"

namespace xlatrace::analysis::phases {

inline bool IsForward(model::Phase phase) {
  return phase == model::Phase::kForward || phase == model::Phase::kLoss;
}
inline bool IsBackward(model::Phase phase) {
  return phase == model::Phase::kBackward || phase == model::Phase::kRecompute;
}

// True for a copy that XLA's rematerialization pass made, by the instruction's name.
inline bool IsRematerialized(std::string_view name) {
  return name.find(".remat") != std::string_view::npos;
}
// Also the -start and -done halves.
bool IsCollective(std::string_view opcode);
// True if the instruction gets the phase of its contents: old releases give it one name in all
// phases.
bool IsContainer(std::string_view opcode);
// Matrix work of a layer: dot, convolution, a library's call.
bool IsMatrixWork(std::string_view opcode);
// A floating type of any width: "f32[8]", "bf16[]".
bool IsFloatingShape(std::string_view shape);

class Draft {
 public:
  using Line = std::pair<std::string_view, int32_t>;  // Source file and line.

  // Starts with the decisions that follow from names alone.
  Draft(const ModuleGraph& graph, const std::vector<NodeFacts>& facts, const ModuleStyle& style,
        model::ModuleRole role);

  const ModuleGraph& graph() const { return graph_; }
  const model::HloModule& module() const { return module_; }
  const ModuleStyle& style() const { return style_; }
  model::ModuleRole role() const { return role_; }
  uint32_t size() const { return static_cast<uint32_t>(phases_.size()); }

  const model::Instruction& At(uint32_t node) const { return module_.instructions[node]; }
  const OpName& Name(uint32_t node) const { return *facts_[node].name; }
  const NodeFacts& Facts(uint32_t node) const { return facts_[node]; }

  bool IsOpen(uint32_t node) const { return phases_[node].origin == model::kNoIndex; }
  bool Is(uint32_t node, model::Phase phase) const {
    return !IsOpen(node) && phases_[node].phase == phase;
  }
  // kUnknown while open.
  model::Phase PhaseOf(uint32_t node) const { return phases_[node].phase; }
  // Decided, but a later stage may replace the decision.
  bool IsWeak(uint32_t node) const { return weak_[node]; }

  // Decides a node with itself as the origin; its weakness does not change.
  void Decide(uint32_t node, model::Phase phase) { phases_[node] = {phase, node}; }
  void SetWeak(uint32_t node, bool weak) { weak_[node] = weak; }
  // The decision about a node, which TakeOver gives to another node.
  NodePhase DecisionOf(uint32_t node) const { return phases_[node]; }
  void TakeOver(uint32_t node, NodePhase decision) { phases_[node] = decision; }
  // Sets a phase without an origin; the node stays undecided.
  void LeaveWith(uint32_t node, model::Phase phase) { phases_[node].phase = phase; }

  // Depends on an input of the program (or on random numbers); constants do not.
  bool IsFromInputs(uint32_t node) const { return from_inputs_[node]; }

  // A node whose own name should decide its phase, but does not.
  bool IsUnmarked(uint32_t node) const;

  bool HasLine(uint32_t node) const {
    const model::OpMetadata& metadata = At(node).metadata;
    return !metadata.source_file.empty() && metadata.source_line > 0;
  }
  Line LineOf(uint32_t node) const {
    return {At(node).metadata.source_file, At(node).metadata.source_line};
  }
  // Lines with decided work for which `has` is true.
  std::set<Line> LinesOf(bool (*has)(model::Phase)) const;

  // Decided computing nodes whose phase satisfies `has`. `only_from_inputs` excludes constants: XLA
  // shares them between phases, so a constant may have the name of any of these phases.
  std::vector<bool> Seeds(bool (*has)(model::Phase), bool only_from_inputs) const;

  std::vector<NodePhase> Take() && { return std::move(phases_); }

 private:
  void FindInputs();
  void TakeNames();
  bool RootHasName(const model::Instruction& self) const;
  bool NamesAnInput(uint32_t node) const;

  const ModuleGraph& graph_;
  const model::HloModule& module_;
  const std::vector<NodeFacts>& facts_;
  const ModuleStyle& style_;
  const model::ModuleRole role_;
  std::vector<NodePhase> phases_;
  std::vector<bool> weak_;
  std::vector<bool> from_inputs_;
};

}  // namespace xlatrace::analysis::phases

#endif  // XLATRACE_ANALYSIS_PHASES_DRAFT_H_
