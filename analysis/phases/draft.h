// SPDX-License-Identifier: Apache-2.0

// The phases of one module while they are being decided: what each instruction says of itself, what
// is decided so far, and the questions that all stages ask about an instruction.
//
// The stages are the other files of this folder; analysis/phase_dataflow.cc runs them in order.
// Each decides what those before it left open, or knows better than what they decided weakly.
//
// Not thread-safe. Borrows what it is made from.

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

// A copy that XLA's rematerialization pass made, by the instruction's name.
inline bool IsRematerialized(std::string_view name) {
  return name.find(".remat") != std::string_view::npos;
}
// Also the -start and -done halves.
bool IsCollective(std::string_view opcode);
// Takes the label of what it contains: its own name is the same for all phases in old releases.
bool IsContainer(std::string_view opcode);
// What a layer multiplies with: dot, convolution, a library's call.
bool IsMatrixWork(std::string_view opcode);
// A floating type of any width: "f32[8]", "bf16[]".
bool IsFloatingShape(std::string_view shape);

class Draft {
 public:
  using Line = std::pair<std::string_view, int32_t>;  // Source file and line.

  // Starts with what the names say by themselves.
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
  // Decided, but a later stage may know better.
  bool IsWeak(uint32_t node) const { return weak_[node]; }

  // On its own account; leaves alone how weak it is.
  void Decide(uint32_t node, model::Phase phase) { phases_[node] = {phase, node}; }
  void SetWeak(uint32_t node, bool weak) { weak_[node] = weak; }
  // What another node was decided to be.
  NodePhase DecisionOf(uint32_t node) const { return phases_[node]; }
  void TakeOver(uint32_t node, NodePhase decision) { phases_[node] = decision; }
  // A phase that no name stands for: the node stays open.
  void LeaveWith(uint32_t node, model::Phase phase) { phases_[node].phase = phase; }

  // Depends on an input of the program (or on random numbers); constants do not.
  bool IsFromInputs(uint32_t node) const { return from_inputs_[node]; }

  // A node whose own name should decide, but does not by itself.
  bool IsUnmarked(uint32_t node) const;

  bool HasLine(uint32_t node) const {
    const model::OpMetadata& metadata = At(node).metadata;
    return !metadata.source_file.empty() && metadata.source_line > 0;
  }
  Line LineOf(uint32_t node) const {
    return {At(node).metadata.source_file, At(node).metadata.source_line};
  }
  // Lines with decided work of such a phase.
  std::set<Line> LinesOf(bool (*has)(model::Phase)) const;

  // Decided nodes of such a phase that are computing; `only_from_inputs` leaves out constants,
  // which XLA shares between phases: they carry one phase's name into all others.
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
