// SPDX-License-Identifier: Apache-2.0

// Finds CUDA graphs of a recording that ran without a node that they usually have. In bodies of
// branches and loops, which the device selects, a node is missing if other nodes of its body ran.
//
// The next work on a graph's streams begins after all of its nodes have ended, including nodes
// without a record. A missing node may have run until then.
//
// Order of calls: OnActivity for all activities, then Find. Times are those of the recording.
// Thread-safety: one thread.

#ifndef XLATRACE_IMPORTERS_RECORDING_GRAPH_LOSSES_H_
#define XLATRACE_IMPORTERS_RECORDING_GRAPH_LOSSES_H_

#include <cstdint>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "importers/recording/recorded_process.h"
#include "model/event_sink.h"
#include "recording/reader.h"

namespace xlatrace::importers {

class GraphLosses {
 public:
  explicit GraphLosses(const RecordedProcess& process) : process_(process) {}

  void OnActivity(const recording::ActivityRow& row, model::Id lane);

  struct Missing {
    std::vector<model::Loss> losses;
    int64_t certain = 0;
    // Nodes of graphs with too few launches, or in bodies of branches and loops: they are lost, or
    // the program had disabled them.
    int64_t doubtful = 0;
    // In a process that was killed, the last launch of a graph may be recorded in part. Everything
    // before this time is complete.
    uint64_t whole_until_ns = UINT64_MAX;
  };
  // `end_ns`: of the last activity.
  Missing Find(bool finished, uint64_t end_ns) const;

 private:
  struct Launch {
    uint32_t graph = 0;
    uint32_t nodes = 0;
    uint32_t lanes = 0;     // Number of lanes with nodes of the graph.
    uint32_t followed = 0;  // Lanes with a later launch.
    uint64_t start_ns = 0, end_ns = 0;
    // Number of records per graph of their nodes, only for conditional graphs.
    std::map<uint32_t, uint32_t> bodies;
    uint64_t next_ns = 0;  // Time at which later work had begun on all lanes. The launch is
                           // complete if every lane has later work.
  };

  void Follow(const recording::ActivityRow& row, model::Id lane);
  uint32_t MissingInBodies(const Launch& launch) const;

  const RecordedProcess& process_;
  std::unordered_map<uint32_t, Launch> launches_;  // By correlation.
  // Nodes that have run, by graph: the launched graph, a child graph or a body. (The upper half of
  // a node's number is its graph: cupti_activity.h.) Conditional graphs only.
  std::unordered_map<uint32_t, std::unordered_set<uint64_t>> nodes_of_graph_;
  std::unordered_map<model::Id, uint32_t> open_;  // By lane: last launch, by correlation.
};

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_RECORDING_GRAPH_LOSSES_H_
