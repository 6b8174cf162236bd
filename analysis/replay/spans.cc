// SPDX-License-Identifier: Apache-2.0
#include "analysis/replay/spans.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

namespace xlatrace::analysis::replay {
namespace {

int64_t StartOf(const Graph& graph, uint32_t node) { return graph.nodes[node].start_ns; }
int64_t EndOf(const Graph& graph, uint32_t node) {
  return graph.nodes[node].start_ns + graph.nodes[node].duration_ns;
}

// Ends with the nodes from `first` to `end`.
template <typename Iterator>
void EndWith(const Graph& graph, const Pieces& pieces, Iterator first, Iterator end, Span& span) {
  std::map<uint32_t, uint32_t> last;  // By lane.
  for (auto node = first; node != end; ++node) {
    uint32_t& known = last.try_emplace(pieces.pieces[*node].lane, *node).first->second;
    if (EndOf(graph, *node) >= EndOf(graph, known)) known = *node;
  }
  span.to_end = true;
  span.end = *first;
  for (const auto& [lane, node] : last) {
    span.ends.push_back(node);
    if (EndOf(graph, node) > EndOf(graph, span.end)) span.end = node;
  }
  span.end_ns = EndOf(graph, span.end);
}

}  // namespace

void FindSpans(const Input& input, const ReplayWindow& window, const Pieces& pieces, Graph& graph) {
  // Nodes of each device, in order.
  std::vector<std::vector<uint32_t>> nodes(window.devices.size());
  for (size_t p = 0; p < pieces.pieces.size(); ++p) {
    if (pieces.pieces[p].node.kind != NodeKind::kActivity) continue;
    nodes[static_cast<size_t>(pieces.lanes[pieces.pieces[p].lane].device_id) - 1].push_back(
        static_cast<uint32_t>(p));
  }
  for (size_t d = 0; d < nodes.size(); ++d) {
    if (nodes[d].empty()) continue;
    const auto device_id = static_cast<model::Id>(d + 1);
    if (window.whole_run) {
      Span span{device_id, -1, StartOf(graph, nodes[d].front()), 0, nodes[d].front(), 0, true};
      EndWith(graph, pieces, nodes[d].begin(), nodes[d].end(), span);
      graph.spans.push_back(span);
      continue;
    }
    for (const model::StepRow& step : window.devices[d].steps) {
      const auto at = [&](int64_t time_ns) {
        return std::lower_bound(nodes[d].begin(), nodes[d].end(), time_ns,
                                [&](uint32_t node, int64_t t) { return StartOf(graph, node) < t; });
      };
      const auto first = at(step.start_ns);
      const auto end = at(step.end_ns);
      if (first == end) continue;
      Span span{device_id, step.step, step.start_ns, step.end_ns, *first, 0, false};
      span.typical = step.typical;
      if (end == nodes[d].end() || StartOf(graph, *end) != step.end_ns) {
        EndWith(graph, pieces, first, end, span);
      } else {
        span.end = *end;
      }
      graph.spans.push_back(span);
    }
  }
  std::stable_sort(graph.spans.begin(), graph.spans.end(),
                   [](const Span& a, const Span& b) { return a.step < b.step; });
  graph.whole_run = window.whole_run;
  graph.on_cpu = std::any_of(graph.spans.begin(), graph.spans.end(), [&](const Span& span) {
    return input.run.devices[static_cast<size_t>(span.device_id) - 1].kind ==
           model::DeviceKind::kCpu;
  });
}

}  // namespace xlatrace::analysis::replay
