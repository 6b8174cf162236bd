// SPDX-License-Identifier: Apache-2.0

// A graph under construction, node by node: the edges of the node that is being added, and the last
// node on each lane.
//
// Thread-safety: one thread.

#ifndef XLATRACE_ANALYSIS_REPLAY_GRAPH_SO_FAR_H_
#define XLATRACE_ANALYSIS_REPLAY_GRAPH_SO_FAR_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/replay/graph.h"

namespace xlatrace::analysis::replay {

class GraphSoFar {
 public:
  // `graph` is empty and must outlive this object.
  GraphSoFar(size_t nodes, size_t lanes, Graph& graph);

  // Begins the next node. Edges are added to it until another node begins.
  void AddNode(const Node& node);
  void End() { graph_.first_edge.push_back(static_cast<uint32_t>(graph_.edges.size())); }

  // Adds a cause of the current node with the recorded lag (edge_lags.h computes the final lag).
  Edge& AddEdge(uint32_t from, EdgeKind kind, bool from_start = false);

  uint32_t Current() const { return static_cast<uint32_t>(graph_.nodes.size() - 1); }
  int64_t StartOf(uint32_t node) const { return graph_.nodes[node].start_ns; }
  int64_t EndOf(uint32_t node) const {
    return graph_.nodes[node].start_ns + graph_.nodes[node].duration_ns;
  }
  std::span<const Edge> Edges() const {
    return std::span<const Edge>(graph_.edges).subspan(graph_.first_edge.back());
  }
  // The latest time of all causes of the current node; INT64_MIN: it has no cause.
  int64_t LatestCause() const;

  // Lanes are those of the pieces. A node that is nested in another node on its lane ends first, so
  // later nodes wait for the outer node.
  uint32_t LastOn(uint32_t lane) const { return on_lane_[lane]; }
  void PutOn(uint32_t lane);
  // The latest end on any of the lanes that is not after `time_ns`.
  uint32_t LatestEnd(const std::vector<uint32_t>& lanes, int64_t time_ns) const;

  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }

 private:
  Graph& graph_;
  std::vector<uint32_t> on_lane_;
  std::vector<uint32_t> before_;  // Per node: the previous node on its lane.
};

}  // namespace xlatrace::analysis::replay

#endif  // XLATRACE_ANALYSIS_REPLAY_GRAPH_SO_FAR_H_
