// SPDX-License-Identifier: Apache-2.0
#include "importers/recording/graph_node_ranges.h"

#include <algorithm>

namespace xlatrace::importers {
namespace {

// A clone of a clone of ... : XLA makes two or three; more is damage.
constexpr int kMaxClones = 64;

}  // namespace

void GraphNodes::Add(const recording::GraphNodeRow& row) {
  const bool clone = row.event == recording::NodeEvent::kCloned;
  nodes_[row.node].push_back(
      {row.time_ns, clone ? row.original_node : 0, row.thunk, row.module, row.event});
}

void GraphNodes::Finish() {
  for (auto& [node, events] : nodes_) {
    std::stable_sort(events.begin(), events.end(),
                     [](const Event& a, const Event& b) { return a.time_ns < b.time_ns; });
  }
}

GraphNodes::Found GraphNodes::At(uint64_t node, uint64_t time_ns, uint32_t launch_thunk) const {
  for (int clones = 0; clones < kMaxClones; ++clones) {
    const auto it = nodes_.find(node);
    if (it == nodes_.end()) return {};
    const std::vector<Event>& events = it->second;
    uint64_t original = 0;
    for (auto event = events.rbegin(); event != events.rend(); ++event) {
      if (event->time_ns > time_ns) continue;
      if (event->kind == recording::NodeEvent::kCloned) {
        original = event->original;
        // A clone without a time is known from the records of its launches.
        if (event->time_ns != 0) time_ns = event->time_ns;
        break;  // Earlier uses of the id belong to another clone.
      }
      const bool whole_graph =
          event->kind == recording::NodeEvent::kUpdated && event->thunk == launch_thunk;
      if (event->thunk != 0 && !whole_graph) return {event->thunk, event->module};
      if (event->kind == recording::NodeEvent::kCreated) return {};
    }
    if (original == 0 || original == node) return {};
    node = original;
  }
  return {};
}

}  // namespace xlatrace::importers
