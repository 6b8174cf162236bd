// SPDX-License-Identifier: Apache-2.0
#include "importers/recording/graph_losses.h"

#include <algorithm>

namespace xlatrace::importers {
namespace {

constexpr int64_t kMinGraphLaunches = 10;  // Launches of a graph from which a missing node is
                                           // certain.

}  // namespace

void GraphLosses::OnActivity(const recording::ActivityRow& row, model::Id lane) {
  Follow(row, lane);
  if (row.graph_node == 0) return;
  Launch& launch = launches_[row.correlation];
  launch.graph = row.graph;
  ++launch.nodes;
  if (process_.conditional_graphs) {
    const auto body = static_cast<uint32_t>(row.graph_node >> 32);
    ++launch.bodies[body];
    nodes_of_graph_[body].insert(row.graph_node);
  }
  if (!row.timed()) return;
  if (launch.start_ns == 0 || row.start_ns < launch.start_ns) launch.start_ns = row.start_ns;
  launch.end_ns = std::max(launch.end_ns, row.end_ns);
}

// The next work on a stream begins after all nodes of a graph are done, also nodes without a
// record.
void GraphLosses::Follow(const recording::ActivityRow& row, model::Id lane) {
  const bool in_graph = row.graph_node != 0;
  if (!in_graph && open_.empty()) return;
  const auto open = open_.find(lane);
  if (open != open_.end()) {
    // Buffers of several threads may come in another order than that of the launches.
    if (row.correlation <= open->second || !row.timed()) return;
    Launch& before = launches_[open->second];
    ++before.followed;
    before.next_ns = std::max(before.next_ns, row.start_ns);
    if (!in_graph) {
      open_.erase(open);
      return;
    }
    open->second = row.correlation;
  } else {
    open_.emplace(lane, row.correlation);
  }
  ++launches_[row.correlation].lanes;
}

// A body of a branch or loop runs as a whole or not at all. So all of its nodes
// have run equally often. So has what always runs, once.
uint32_t GraphLosses::MissingInBodies(const Launch& launch) const {
  uint32_t missing = 0;
  for (const auto& [body, records] : launch.bodies) {
    const auto nodes = static_cast<uint32_t>(nodes_of_graph_.at(body).size());
    const uint32_t rounds = (records + nodes - 1) / nodes;
    missing += rounds * nodes - records;
  }
  return missing;
}

// Graphs that ran without a node they usually have. If branches and loops on the device decide, a
// node is missing if other nodes of its body ran.
GraphLosses::Missing GraphLosses::Find(bool finished, uint64_t end_ns) const {
  Missing found;
  struct Usual {
    std::map<uint32_t, int64_t> launches;  // By nodes.
    int64_t all = 0;
    uint32_t last = 0;  // Correlation.
  };
  std::unordered_map<uint32_t, Usual> graphs;
  for (const auto& [correlation, launch] : launches_) {
    Usual& usual = graphs[launch.graph];
    ++usual.launches[launch.nodes];
    ++usual.all;
    usual.last = std::max(usual.last, correlation);
  }
  for (const auto& [correlation, launch] : launches_) {
    const Usual& usual = graphs.at(launch.graph);
    const uint32_t most = usual.launches.rbegin()->first;
    const uint32_t missing =
        process_.conditional_graphs ? MissingInBodies(launch) : most - launch.nodes;
    if (missing == 0) continue;
    // In a process that was killed, the last launch of a graph may be recorded in part.
    if (!finished && launch.start_ns != 0 && correlation == usual.last) {
      found.whole_until_ns = std::min(found.whole_until_ns, launch.start_ns);
      continue;
    }
    const bool always =
        usual.all >= kMinGraphLaunches && 10 * usual.launches.rbegin()->second >= 9 * usual.all;
    const bool certain = always && !process_.conditional_graphs;
    (certain ? found.certain : found.doubtful) += missing;
    const auto called = process_.graph_launch_ns.find(correlation);
    uint64_t from = process_.first_ns;
    if (called != process_.graph_launch_ns.end() && called->second != 0) {
      // If no row has its times, only the time of the call is known.
      from = launch.start_ns == 0 ? called->second : std::min(called->second, launch.start_ns);
    }
    const uint64_t to = launch.followed == launch.lanes ? launch.next_ns : end_ns;
    found.losses.push_back({.start_ns = static_cast<int64_t>(from),
                            .end_ns = static_cast<int64_t>(std::max(to, launch.end_ns)),
                            .at_least = certain ? missing : 0,
                            .correlation = correlation,
                            .cause = "graph_node"});
  }
  return found;
}

}  // namespace xlatrace::importers
