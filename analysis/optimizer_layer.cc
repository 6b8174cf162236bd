// SPDX-License-Identifier: Apache-2.0
#include "analysis/optimizer_layer.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "analysis/parameter_users.h"

namespace xlatrace::analysis {
namespace {

using model::Instruction;
using model::Phase;

constexpr uint32_t kSeveralLayersId = UINT32_MAX;

uint32_t Merge(uint32_t a, uint32_t b) {
  if (a == 0 || a == b) return b;
  return b == 0 ? a : kSeveralLayersId;
}

// Two results per node: the layer from parameters, and the layer from gradients.
struct Evidence {
  uint32_t parameter = 0;
  uint32_t gradient = 0;
};

class Finder {
 public:
  Finder(const ModuleGraph& graph, const std::vector<NodePhase>& phases,
         std::vector<uint32_t> layers)
      : graph_(graph), phases_(phases), layers_(std::move(layers)) {}

  std::vector<uint32_t> Run() {
    FindParameterLayers();
    evidence_.resize(graph_.size());
    state_.assign(graph_.size(), State::kNew);
    for (uint32_t node = 0; node < graph_.size(); ++node) {
      if (IsOptimizer(node)) Visit(node);
    }
    for (uint32_t node = 0; node < graph_.size(); ++node) {
      if (!IsOptimizer(node) || state_[node] != State::kDone) continue;
      const Evidence& found = evidence_[node];
      const uint32_t layer = found.parameter != 0 ? found.parameter : found.gradient;
      if (layer != 0 && layer != kSeveralLayersId && !IsScalarShape(At(node).shape))
        layers_[node] = layer;
    }
    return std::move(layers_);
  }

 private:
  enum class State : uint8_t { kNew, kOpen, kDone };

  const Instruction& At(uint32_t node) const { return graph_.module().instructions[node]; }
  bool IsOptimizer(uint32_t node) const { return phases_[node].phase == Phase::kOptimizer; }
  // The layer in whose scope the forward pass first computes with an input of the program.
  void FindParameterLayers() {
    for (uint32_t node = 0; node < graph_.size(); ++node) {
      if (!IsEntryParameter(graph_, node) || IsScalarShape(At(node).shape)) continue;
      std::map<uint32_t, int> votes;
      for (const uint32_t user : ComputingUsers(graph_, node)) {
        if (phases_[user].phase == Phase::kForward && layers_[user] != 0) ++votes[layers_[user]];
      }
      const auto most =
          std::max_element(votes.begin(), votes.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
      // An input that many layers read (the batch) is not a parameter.
      if (most != votes.end() && votes.size() <= 2) layers_[node] = most->first;
    }
  }

  // Depth first over operands, without recursion: chains of updates may be long.
  void Visit(uint32_t root) {
    std::vector<std::pair<uint32_t, size_t>> path = {{root, 0}};
    state_[root] = State::kOpen;
    while (!path.empty()) {
      auto& [node, next] = path.back();
      const auto operands = graph_.Operands(node);
      if (next == operands.size()) {
        state_[node] = State::kDone;
        const Evidence found = evidence_[node];
        const bool scalar = IsScalarShape(At(node).shape);
        path.pop_back();
        if (!path.empty() && !scalar) Add(path.back().first, found);
        continue;
      }
      const uint32_t operand = operands[next++];
      if (IsScalarShape(At(operand).shape)) continue;
      if (IsEntryParameter(graph_, operand)) {
        Add(node, {layers_[operand], 0});
      } else if (phases_[operand].phase == Phase::kBackward) {
        Add(node, {0, layers_[operand]});
      } else if (IsOptimizer(operand) || IsTransparent(operand)) {
        if (state_[operand] == State::kDone) {
          Add(node, evidence_[operand]);
        } else if (state_[operand] == State::kNew) {
          state_[operand] = State::kOpen;
          path.emplace_back(operand, 0);
        }
      }
    }
  }

  bool IsTransparent(uint32_t node) const {
    return At(node).opcode == "parameter" || At(node).opcode == "get-tuple-element";
  }

  void Add(uint32_t node, const Evidence& more) {
    evidence_[node].parameter = Merge(evidence_[node].parameter, more.parameter);
    evidence_[node].gradient = Merge(evidence_[node].gradient, more.gradient);
  }

  const ModuleGraph& graph_;
  const std::vector<NodePhase>& phases_;
  std::vector<uint32_t> layers_;
  std::vector<Evidence> evidence_;
  std::vector<State> state_;
};

}  // namespace

std::vector<uint32_t> FillOptimizerLayers(const ModuleGraph& graph,
                                          const std::vector<NodePhase>& phases,
                                          std::vector<uint32_t> layers) {
  return Finder(graph, phases, std::move(layers)).Run();
}

}  // namespace xlatrace::analysis
