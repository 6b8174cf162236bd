// SPDX-License-Identifier: Apache-2.0
#include "analysis/replay/critical_path.h"

#include <algorithm>
#include <optional>

namespace xlatrace::analysis::replay {
namespace {

using model::PathKind;

PathKind KindOf(const Node& node) {
  if (node.kind != NodeKind::kActivity) return PathKind::kHost;
  if (node.work == ActivityClass::kCollective) return PathKind::kCollective;
  return node.by_copying ? PathKind::kCopy : PathKind::kKernel;
}

// Per group: the member that began last.
std::vector<uint32_t> LastArrivals(const Graph& graph, const Times& times) {
  std::vector<uint32_t> last(graph.groups.size(), UINT32_MAX);
  if (graph.groups.size() < 2) return last;
  for (uint32_t node = 0; node < graph.nodes.size(); ++node) {
    const uint32_t group = graph.nodes[node].group;
    if (group == 0) continue;
    if (last[group] == UINT32_MAX || times.start_ns[node] > times.start_ns[last[group]]) {
      last[group] = node;
    }
  }
  return last;
}

int64_t CauseOf(const Edge& edge, const Times& times) {
  return edge.from_start ? times.start_ns[edge.from] : times.end_ns[edge.from];
}

struct Cause {
  uint32_t from = 0;
  int64_t at_ns = 0;
};

// The node for which a lane waits. If the node before was set aside, the one before that.
uint32_t LaneBefore(const Graph& graph, const Setting& setting, uint32_t node) {
  while (!setting.aside.empty() && setting.aside[node]) {
    const size_t first = graph.first_edge[node];
    if (first == graph.first_edge[node + 1] || graph.edges[first].kind != EdgeKind::kLane) break;
    node = graph.edges[first].from;
  }
  return node;
}

// If several causes would bind, the first one: the lane.
std::optional<Cause> BindingOf(const Graph& graph, const std::vector<Edge>& edges,
                               const Times& times, const Setting& setting, uint32_t node) {
  std::optional<Cause> binding;
  int64_t latest = INT64_MIN;
  const bool aside = !setting.aside.empty() && setting.aside[node];
  for (size_t e = graph.first_edge[node]; e < graph.first_edge[node + 1]; ++e) {
    const Edge& edge = edges[e];
    if (edge.lag_ns == kNoEdgeLagNs || (aside && edge.kind == EdgeKind::kLane)) continue;
    Cause cause = {edge.from, CauseOf(edge, times)};
    if (edge.kind == EdgeKind::kLane && !edge.from_start) {
      cause.from = LaneBefore(graph, setting, edge.from);
      cause.at_ns = times.end_ns[cause.from];
    }
    if (binding && cause.at_ns + edge.lag_ns <= latest) continue;
    latest = cause.at_ns + edge.lag_ns;
    binding = cause;
  }
  if (!setting.after.empty() && setting.after[node] != kNoNodeIndex) {
    const uint32_t before = setting.after[node];
    if (!binding || times.end_ns[before] > latest) binding = {before, times.end_ns[before]};
  }
  return binding;
}

}  // namespace

std::vector<PathPart> CriticalPath(const Graph& graph, const Times& times, const Span& span,
                                   const Setting& setting, PathOver over) {
  const std::vector<Edge>& edges = setting.edges.empty() ? graph.edges : setting.edges;
  const std::vector<uint32_t> last_arrival =
      over == PathOver::kAllDevices ? LastArrivals(graph, times) : std::vector<uint32_t>();
  const int64_t from_ns = times.start_ns[span.first];
  std::vector<PathPart> path;
  const auto add = [&](uint32_t node, int64_t start, int64_t end, PathKind kind) {
    start = std::max(start, from_ns);
    if (start < end) path.push_back({node, start, end, kind});
  };
  uint32_t node = EndOf(span, times);
  int64_t until = span.to_end ? times.end_ns[node] : times.start_ns[node];
  while (until > from_ns) {
    if (const uint32_t group = graph.nodes[node].group; over == PathOver::kAllDevices &&
                                                        group != 0 && !setting.alone &&
                                                        until > times.start_ns[node]) {
      const uint32_t arrived = last_arrival[group];
      // On the path from the last arrival on; before it, it only waited.
      if (times.start_ns[arrived] < until) {
        add(node, times.start_ns[arrived], until, KindOf(graph.nodes[node]));
        until = times.start_ns[arrived];
        node = arrived;
      }
    }
    if (until > times.start_ns[node]) {
      add(node, times.start_ns[node], until, KindOf(graph.nodes[node]));
      until = times.start_ns[node];
    }
    const std::optional<Cause> binding = BindingOf(graph, edges, times, setting, node);
    if (!binding) {  // It began as recorded; earlier work is not in the graph.
      add(node, from_ns, until, PathKind::kGap);
      break;
    }
    // A node that began while a kernel ran on its lane waited in that time.
    const bool running = graph.nodes[binding->from].kind == NodeKind::kActivity &&
                         graph.nodes[node].kind == NodeKind::kActivity &&
                         times.end_ns[binding->from] >= until;
    const int64_t cause = running ? until : std::min(binding->at_ns, until);
    const bool host = graph.nodes[node].kind != NodeKind::kActivity ||
                      graph.nodes[binding->from].kind != NodeKind::kActivity;
    add(node, cause, until, host ? PathKind::kHost : PathKind::kGap);
    until = cause;
    node = binding->from;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

std::vector<int64_t> SlackOf(const Graph& graph, const Times& times, const Setting& setting) {
  const std::vector<Edge>& edges = setting.edges.empty() ? graph.edges : setting.edges;
  std::vector<int64_t> slack(graph.nodes.size(), INT64_MAX);
  for (const Span& span : graph.spans) {
    slack[span.end] = 0;
    for (const uint32_t node : span.ends) {
      slack[node] = times.end_ns[EndOf(span, times)] - times.end_ns[node];
    }
  }
  std::vector<std::vector<uint32_t>> members(graph.groups.size());
  for (uint32_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].group != 0) members[graph.nodes[n].group].push_back(n);
  }
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    // Nodes that wait for a member come after all members, so their slacks are known. An early
    // member may be delayed until the last one, and then by the slack that all of them have.
    int64_t own = slack[n];
    int64_t last_ns = times.start_ns[n];
    for (const uint32_t member : members[graph.nodes[n].group]) {
      own = std::min(own, slack[member]);
      last_ns = std::max(last_ns, times.start_ns[member]);
    }
    if (own == INT64_MAX) continue;
    own += last_ns - times.start_ns[n];
    for (size_t e = graph.first_edge[n]; e < graph.first_edge[n + 1]; ++e) {
      const Edge& edge = edges[e];
      if (edge.lag_ns == kNoEdgeLagNs) continue;
      const int64_t spare = times.start_ns[n] - CauseOf(edge, times) - edge.lag_ns;
      slack[edge.from] = std::min(slack[edge.from], own + std::max<int64_t>(spare, 0));
    }
  }
  return slack;
}

}  // namespace xlatrace::analysis::replay
