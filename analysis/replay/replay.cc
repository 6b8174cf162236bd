// SPDX-License-Identifier: Apache-2.0
#include "analysis/replay/replay.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>
#include <utility>

namespace xlatrace::analysis::replay {

Times Replay(const Graph& graph, const Setting& setting) {
  Times times;
  ReplayInto(graph, setting, setting.edges.empty() ? graph.edges : setting.edges, times);
  return times;
}

void ReplayInto(const Graph& graph, const Setting& setting, const std::vector<Edge>& edges,
                Times& times) {
  const size_t count = graph.nodes.size();
  times.start_ns.resize(count);
  times.end_ns.resize(count);
  std::vector<int64_t> arrival(graph.groups.size(), INT64_MIN);
  // When the lane is free again, if this differs from the end of the node.
  std::vector<int64_t> free =
      setting.aside.empty() ? std::vector<int64_t>() : std::vector<int64_t>(count);
  const auto duration_of = [&](size_t node) {
    return setting.durations.empty() ? graph.nodes[node].duration_ns : setting.durations[node];
  };
  const auto end_of = [&](size_t node) {
    const uint32_t group = graph.nodes[node].group;
    return group == 0 || setting.alone ? times.end_ns[node] : arrival[group] + duration_of(node);
  };
  for (size_t node = 0; node < count; ++node) {
    int64_t start = INT64_MIN;
    int64_t lane_free = INT64_MIN;
    for (size_t e = graph.first_edge[node]; e < graph.first_edge[node + 1]; ++e) {
      const Edge& edge = edges[e];
      if (edge.lag_ns == kNoEdgeLagNs) continue;
      int64_t cause = edge.from_start ? times.start_ns[edge.from] : end_of(edge.from);
      if (edge.kind == EdgeKind::kLane) {
        if (!free.empty() && setting.aside[edge.from]) cause = free[edge.from];
        lane_free = cause;
        if (!free.empty() && setting.aside[node]) continue;
      }
      int64_t begin = cause + edge.lag_ns;
      // A node that overlaps the end of its cause does not begin before the cause's start.
      if (edge.lag_ns < 0) begin = std::max(begin, times.start_ns[edge.from]);
      start = std::max(start, begin);
    }
    if (!setting.after.empty() && setting.after[node] != kNoNodeIndex) {
      start = std::max(start, end_of(setting.after[node]));
    }
    if (start == INT64_MIN) start = lane_free;
    // Nodes without a cause begin as recorded, also those that lost their causes by the change.
    if (start == INT64_MIN) {
      const bool had_cause = graph.first_edge[node] != graph.first_edge[node + 1];
      start = graph.nodes[had_cause ? 0 : node].start_ns;
    }
    times.start_ns[node] = start;
    times.end_ns[node] = start + duration_of(node);
    if (const uint32_t group = graph.nodes[node].group; group != 0) {
      arrival[group] = std::max(arrival[group], start);
    }
    if (!free.empty()) free[node] = setting.aside[node] ? lane_free : times.end_ns[node];
  }
  if (graph.groups.size() > 1) {
    for (size_t node = 0; node < count; ++node) times.end_ns[node] = end_of(node);
  }
}

uint32_t EndOf(const Span& span, const Times& times) {
  uint32_t last = span.end;
  for (const uint32_t node : span.ends) {
    if (times.end_ns[node] > times.end_ns[last]) last = node;
  }
  return last;
}

namespace {

int64_t Mean(const std::vector<int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), int64_t{0}) /
         static_cast<int64_t>(values.size());
}

}  // namespace

int64_t LengthOf(const Span& span, const Times& times) {
  const int64_t end = span.to_end ? times.end_ns[EndOf(span, times)] : times.start_ns[span.end];
  return end - times.start_ns[span.first];
}

int64_t StepLength(const std::vector<Span>& spans, const Times& times) {
  const bool any_typical =
      std::any_of(spans.begin(), spans.end(), [](const Span& span) { return span.typical; });
  std::vector<int64_t> recorded, replayed;  // Spans are by step.
  for (size_t s = 0; s < spans.size();) {
    int64_t recorded_sum = 0, replayed_sum = 0;
    int64_t devices = 0;
    const Span& first = spans[s];
    for (; s < spans.size() && spans[s].step == first.step; ++s) {
      recorded_sum += spans[s].end_ns - spans[s].start_ns;
      replayed_sum += LengthOf(spans[s], times);
      ++devices;
    }
    if (!first.typical && any_typical) continue;
    recorded.push_back(recorded_sum / devices);
    replayed.push_back(replayed_sum / devices);
  }
  if (recorded.empty()) return 0;
  const int64_t typical_ns = Mean(recorded);
  if (recorded.size() >= 3) {
    recorded.erase(recorded.begin());
    replayed.erase(replayed.begin());
  }
  const auto before = static_cast<double>(Mean(recorded)),
             after = static_cast<double>(Mean(replayed));
  return before > 0 ? std::llround(static_cast<double>(typical_ns) * after / before)
                    : Mean(replayed);
}

}  // namespace xlatrace::analysis::replay
