// SPDX-License-Identifier: Apache-2.0

// The range in which each node of a CUDA graph was created. This range, and not the range around
// the launch, names the instruction of a command buffer's kernel.
//
// XLA pushes a thunk's range while it records the thunk's nodes or updates their parameters. Only
// the command buffer's own range is open around cuGraphLaunch
// (xla/backends/gpu/runtime/command_executor.cc). Instantiation clones nodes; the range that is
// open then has no meaning.
//
// Thread-safety: const calls are safe after Finish.

#ifndef XLATRACE_IMPORTERS_RECORDING_GRAPH_NODE_RANGES_H_
#define XLATRACE_IMPORTERS_RECORDING_GRAPH_NODE_RANGES_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "recording/rows.h"

namespace xlatrace::importers {

class GraphNodes {
 public:
  void Add(const recording::GraphNodeRow& row);
  void Finish();

  struct Found {
    uint32_t thunk = 0;  // String ids; 0: not known.
    uint32_t module = 0;
  };
  // The range of node `node` at `time_ns`, from the latest event at or before that time.
  // `launch_thunk`: the range around the launch. An update under that range concerns the whole
  // graph and has no facts about its nodes.
  Found At(uint64_t node, uint64_t time_ns, uint32_t launch_thunk) const;

  // Calls `on(thunk, time_ns)` for every node that was made under a range.
  template <typename On>
  void ForEachThunk(On on) const {
    for (const auto& [node, events] : nodes_) {
      for (const Event& event : events) {
        if (event.kind == recording::NodeEvent::kCreated && event.thunk != 0) {
          on(event.thunk, event.time_ns);
        }
      }
    }
  }

 private:
  struct Event {
    uint64_t time_ns;
    uint64_t original;  // The original node of a clone; otherwise 0.
    uint32_t thunk;
    uint32_t module;
    recording::NodeEvent kind;
  };
  std::unordered_map<uint64_t, std::vector<Event>> nodes_;
};

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_RECORDING_GRAPH_NODE_RANGES_H_
