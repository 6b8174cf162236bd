// SPDX-License-Identifier: Apache-2.0
#include "analysis/recompute_layer.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>

#include "analysis/parameter_users.h"

namespace xlatrace::analysis {

using model::Phase;

std::vector<uint32_t> MapRecomputedLayers(const ModuleGraph& graph,
                                          const std::vector<NodePhase>& phases,
                                          std::vector<uint32_t> layers) {
  std::set<uint32_t> forward;
  std::set<uint32_t> repeated;
  for (uint32_t node = 0; node < graph.size(); ++node) {
    if (layers[node] == 0) continue;
    if (phases[node].phase == Phase::kForward) forward.insert(layers[node]);
    if (phases[node].phase == Phase::kRecompute) repeated.insert(layers[node]);
  }
  std::erase_if(repeated, [&](uint32_t layer) { return forward.contains(layer); });
  if (repeated.empty()) return layers;

  std::map<uint32_t, std::map<uint32_t, int>> votes;  // Recomputed layer, forward layer.
  for (uint32_t node = 0; node < graph.size(); ++node) {
    if (!IsEntryParameter(graph, node)) continue;
    std::set<uint32_t> first;
    std::set<uint32_t> again;
    for (const uint32_t user : ComputingUsers(graph, node)) {
      if (layers[user] == 0) continue;
      if (phases[user].phase == Phase::kForward) first.insert(layers[user]);
      if (repeated.contains(layers[user])) again.insert(layers[user]);
    }
    for (const uint32_t layer : again) {
      for (const uint32_t original : first) ++votes[layer][original];
    }
  }
  std::map<uint32_t, uint32_t> original_of;
  for (const auto& [layer, originals] : votes) {
    original_of[layer] =
        std::max_element(originals.begin(), originals.end(), [](const auto& a, const auto& b) {
          return a.second < b.second;
        })->first;
  }
  for (uint32_t& layer : layers) {
    if (const auto at = original_of.find(layer); at != original_of.end()) layer = at->second;
  }
  return layers;
}

}  // namespace xlatrace::analysis
