// SPDX-License-Identifier: Apache-2.0
#include "analysis/replay/edge_lags.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace xlatrace::analysis::replay {
namespace {

constexpr int64_t kUsuallyNs = 20'000;  // Lags above are no usual ones.

// A host that waited did the work that followed afterwards: the call before does not bind later
// than that.
int64_t OtherLag(const Graph& graph, size_t node, const Edge& edge, int64_t usual) {
  if (edge.kind != EdgeKind::kThread || graph.nodes[node].kind != NodeKind::kCall) return usual;
  for (size_t e = graph.first_edge[node]; e < graph.first_edge[node + 1]; ++e) {
    if (graph.edges[e].binding) return std::max(usual, graph.edges[e].lag_ns);
  }
  return usual;
}

}  // namespace

void SettleLags(Graph& graph) {
  std::vector<int64_t> lags[kEdgeKindCount];
  for (size_t node = 0; node < graph.nodes.size(); ++node) {
    Edge* binding = nullptr;
    for (size_t e = graph.first_edge[node]; e < graph.first_edge[node + 1]; ++e) {
      Edge& edge = graph.edges[e];
      if (edge.lag_ns == kNoEdgeLagNs) continue;
      if (binding == nullptr || edge.lag_ns < binding->lag_ns) binding = &edge;
    }
    if (binding == nullptr) continue;
    binding->binding = true;
    if (binding->lag_ns >= 0 && binding->lag_ns <= kUsuallyNs) {
      lags[static_cast<size_t>(binding->kind)].push_back(binding->lag_ns);
    }
  }
  constexpr int64_t kDefaults[] = {1'000, 5'000, 0, 10'000, 1'000, 1'000, 1'000};
  for (size_t kind = 0; kind < kEdgeKindCount; ++kind) {
    graph.usual_lag_ns[kind] = kDefaults[kind];
    if (lags[kind].empty()) continue;
    const auto middle = lags[kind].begin() + static_cast<std::ptrdiff_t>(lags[kind].size() / 2);
    std::nth_element(lags[kind].begin(), middle, lags[kind].end());
    graph.usual_lag_ns[kind] = *middle;
  }
  for (size_t node = 0; node < graph.nodes.size(); ++node) {
    for (size_t e = graph.first_edge[node]; e < graph.first_edge[node + 1]; ++e) {
      Edge& edge = graph.edges[e];
      if (edge.binding || edge.lag_ns == kNoEdgeLagNs) continue;
      const int64_t usual = graph.usual_lag_ns[static_cast<size_t>(edge.kind)];
      edge.lag_ns = std::min(edge.lag_ns, OtherLag(graph, node, edge, usual));
    }
  }
}

void FollowStartsOfMembers(Graph& graph) {
  for (size_t node = 0; node < graph.nodes.size(); ++node) {
    for (size_t e = graph.first_edge[node]; e < graph.first_edge[node + 1]; ++e) {
      Edge& edge = graph.edges[e];
      if (edge.lag_ns >= 0 || edge.lag_ns == kNoEdgeLagNs || graph.nodes[edge.from].group == 0) {
        continue;
      }
      edge.from_start = true;
      edge.lag_ns = graph.nodes[node].start_ns - graph.nodes[edge.from].start_ns;
    }
  }
}

}  // namespace xlatrace::analysis::replay
