// SPDX-License-Identifier: Apache-2.0
#include "analysis/replay/graph_so_far.h"

#include <algorithm>

namespace xlatrace::analysis::replay {

GraphSoFar::GraphSoFar(size_t nodes, size_t lanes, Graph& graph)
    : graph_(graph), on_lane_(lanes, kNoNodeIndex) {
  graph_.nodes.reserve(nodes);
  graph_.first_edge.reserve(nodes + 1);
  graph_.edges.reserve(2 * nodes);
  before_.reserve(nodes);
}

void GraphSoFar::AddNode(const Node& node) {
  graph_.nodes.push_back(node);
  graph_.first_edge.push_back(static_cast<uint32_t>(graph_.edges.size()));
  before_.push_back(kNoNodeIndex);
}

Edge& GraphSoFar::AddEdge(uint32_t from, EdgeKind kind, bool from_start) {
  const int64_t cause = from_start ? StartOf(from) : EndOf(from);
  return graph_.edges.emplace_back(
      Edge{graph_.nodes.back().start_ns - cause, from, kind, from_start, false});
}

int64_t GraphSoFar::LatestCause() const {
  int64_t latest = INT64_MIN;
  for (const Edge& edge : Edges()) {
    if (edge.lag_ns == kNoEdgeLagNs) continue;
    latest = std::max(latest, graph_.nodes.back().start_ns - edge.lag_ns);
  }
  return latest;
}

void GraphSoFar::PutOn(uint32_t lane) {
  const uint32_t node = Current();
  const uint32_t before = on_lane_[lane];
  before_[node] = before;
  if (before == kNoNodeIndex || EndOf(node) >= EndOf(before)) on_lane_[lane] = node;
}

uint32_t GraphSoFar::LatestEnd(const std::vector<uint32_t>& lanes, int64_t time_ns) const {
  uint32_t latest = kNoNodeIndex;
  for (const uint32_t lane : lanes) {
    uint32_t node = on_lane_[lane];
    // The node may still be running then; the one before it on its lane has ended.
    while (node != kNoNodeIndex && EndOf(node) > time_ns) node = before_[node];
    if (node != kNoNodeIndex && (latest == kNoNodeIndex || EndOf(node) > EndOf(latest)))
      latest = node;
  }
  return latest;
}

}  // namespace xlatrace::analysis::replay
