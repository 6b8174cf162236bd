// SPDX-License-Identifier: Apache-2.0
#include "correlator/thunk_order/align/launch_sequence.h"

#include <algorithm>
#include <set>

namespace xlatrace::correlator {

std::vector<std::vector<uint32_t>> LaunchSequences(const model::RunTables& run) {
  const model::ActivityColumns& columns = run.activities;
  std::vector<std::vector<uint32_t>> sequences(run.devices.size());
  std::vector<bool> ordered(run.devices.size(), true);
  std::vector<uint32_t> device_of_lane(run.lanes.size() + 1, 0);
  for (size_t l = 0; l < run.lanes.size(); ++l) {
    device_of_lane[l + 1] = static_cast<uint32_t>(run.lanes[l].device_id - 1);
  }
  for (uint32_t i = 0; i < columns.size(); ++i) {
    const uint32_t device = device_of_lane[columns.lane[i]];
    if (run.devices[device].kind != model::DeviceKind::kGpu) continue;
    sequences[device].push_back(i);
    if (columns.correlation_of(i) == 0) ordered[device] = false;
  }
  const auto by_start = [&](uint32_t a, uint32_t b) {
    return columns.start_ns[a] != columns.start_ns[b] ? columns.start_ns[a] < columns.start_ns[b]
                                                      : a < b;
  };
  const auto by_launch = [&](uint32_t a, uint32_t b) {
    const uint32_t x = columns.correlation_of(a);
    const uint32_t y = columns.correlation_of(b);
    if (x != y) return x < y;
    return by_start(a, b);
  };
  // Within one graph launch, the order of node creation is the order of thunks, even if nodes ran
  // in parallel. A node id contains the graph's number and the node's number. Nodes of several
  // graphs (library calls are captured as child graphs) are not comparable. So the nodes of each
  // graph are sorted on the positions that they have by start.
  std::vector<size_t> places;
  std::vector<uint32_t> nodes;
  const auto order_nodes = [&](std::vector<uint32_t>& sequence) {
    if (columns.graph_node.empty()) return;
    const auto before = [&](uint32_t a, uint32_t b) {
      return columns.graph_node_of(a) < columns.graph_node_of(b);
    };
    for (size_t begin = 0; begin < sequence.size();) {
      const uint32_t launch = columns.correlation_of(sequence[begin]);
      size_t end = begin + 1;
      while (end < sequence.size() && columns.correlation_of(sequence[end]) == launch) ++end;
      std::set<int64_t> graphs;
      for (size_t k = begin; end - begin > 1 && k < end; ++k) {
        const int64_t node = columns.graph_node_of(sequence[k]);
        if (node != 0) graphs.insert(node >> 32);
      }
      for (const int64_t graph : graphs) {
        places.clear();
        nodes.clear();
        for (size_t k = begin; k < end; ++k) {
          if (columns.graph_node_of(sequence[k]) >> 32 != graph) continue;
          places.push_back(k);
          nodes.push_back(sequence[k]);
        }
        std::stable_sort(nodes.begin(), nodes.end(), before);
        for (size_t k = 0; k < places.size(); ++k) sequence[places[k]] = nodes[k];
      }
      begin = end;
    }
  };
  const auto sort = [](std::vector<uint32_t>& sequence, const auto& before) {
    if (!std::is_sorted(sequence.begin(), sequence.end(), before)) {
      std::sort(sequence.begin(), sequence.end(), before);
    }
  };
  for (size_t d = 0; d < sequences.size(); ++d) {
    if (ordered[d]) {
      sort(sequences[d], by_launch);
      order_nodes(sequences[d]);
    } else {
      sort(sequences[d], by_start);
    }
  }
  return sequences;
}

}  // namespace xlatrace::correlator
