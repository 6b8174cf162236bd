// SPDX-License-Identifier: Apache-2.0
#include "analysis/replay/what_if.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "analysis/replay/factors.h"

namespace xlatrace::analysis::replay {
namespace {

constexpr int64_t kSchedulingNs = 20'000;

// For a CPU: the largest gain of the remaining ops, as a share of the saved time. Removed work no
// longer displaces their data from the caches. Measured on pairs of programs
// (docs/explanation/replay.md): remaining ops took 0.90 to 1.00 of their time after 20 to 90 % of
// the step was removed.
constexpr double kMaxCacheGainShare = 0.15;

class Applier {
 public:
  Applier(const Graph& graph, const Input& input, const Change& change)
      : graph_(graph), input_(input), change_(change) {}

  Applied Run() {
    setting_.edges = graph_.edges;
    setting_.durations.reserve(graph_.nodes.size());
    for (const Node& node : graph_.nodes) setting_.durations.push_back(node.duration_ns);
    Scale();
    if (change_.collective_bandwidth != 1) SpeedCollectives();
    if (change_.copies == CopyChange::kHidden) SetAside(ActivityClass::kCopy);
    if (change_.collectives_early) SetAside(ActivityClass::kCollective);
    if (change_.one_launch) MergeLaunches();
    if (!change_.gaps.empty()) CloseGaps();
    if (!change_.single_gaps.empty()) CloseSingleGaps();
    if (change_.devices_even) LeaveAlone();
    MoveSpans();
    out_.setting = std::move(setting_);
    return std::move(out_);
  }

 private:
  Edge* begin(size_t node) { return setting_.edges.data() + graph_.first_edge[node]; }
  Edge* end(size_t node) { return setting_.edges.data() + graph_.first_edge[node + 1]; }

  void Scale() {
    Factors factors(graph_, input_, change_);
    for (uint32_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (node.kind != NodeKind::kActivity) continue;
      const double factor = factors.Next(n);
      const bool gone = factor == 0;
      if (factor == 1) continue;
      ++out_.nodes;
      setting_.durations[n] = std::llround(static_cast<double>(node.duration_ns) * factor);
      if (!gone) continue;
      gone_.resize(graph_.nodes.size(), false);
      gone_[n] = true;
      for (Edge* edge = begin(n); edge != end(n); ++edge) {
        if (edge->kind == EdgeKind::kLane && edge->lag_ns > 0 && edge->lag_ns < kSchedulingNs) {
          edge->lag_ns = 0;
        }
        // Removed work has no launch, and its apparent causes delay no other node.
        if (edge->kind == EdgeKind::kLaunch && HasLane(n)) edge->lag_ns = kNoEdgeLagNs;
        if (edge->kind == EdgeKind::kSeen && HasLane(n)) edge->lag_ns = kNoEdgeLagNs;
      }
    }
    DropEmptyCalls();
  }

  // Calls of which all that they launched is gone.
  void DropEmptyCalls() {
    if (gone_.empty()) return;
    std::vector<bool> emptied(graph_.nodes.size(), false);
    for (const bool removed : {true, false}) {
      for (uint32_t n = 0; n < graph_.nodes.size(); ++n) {
        if (gone_[n] != removed) continue;
        for (const Edge* edge = begin(n); edge != end(n); ++edge) {
          if (edge->kind == EdgeKind::kLaunch) emptied[edge->from] = removed;
        }
      }
    }
    for (uint32_t n = 0; n < graph_.nodes.size(); ++n) {
      if (emptied[n]) DropCall(n);
    }
  }

  bool HasLane(size_t node) {
    return std::any_of(begin(node), end(node),
                       [](const Edge& edge) { return edge.kind == EdgeKind::kLane; });
  }

  bool HasOperand(size_t node) {
    return std::any_of(begin(node), end(node),
                       [](const Edge& edge) { return edge.kind == EdgeKind::kData; });
  }

  // A removed node begins with the node before it. No step is measured by it.
  void MoveSpans() {
    out_.spans = graph_.spans;
    const auto gone = [&](uint32_t n) {
      return graph_.nodes[n].kind != NodeKind::kActivity ||
             (setting_.durations[n] == 0 && graph_.nodes[n].duration_ns > 0);
    };
    const auto same_device = [&](uint32_t n, const Span& span) {
      return graph_.nodes[n].kind == NodeKind::kActivity &&
             input_.run.LaneOf(graph_.nodes[n].what).device_id == span.device_id;
    };
    for (Span& span : out_.spans) {
      const auto next = [&](uint32_t from) {
        for (uint32_t n = from; n < graph_.nodes.size(); ++n) {
          if (!gone(n) && same_device(n, span)) return n;
        }
        return from;
      };
      if (gone(span.first)) span.first = next(span.first);
      if (!span.to_end && gone(span.end)) span.end = next(span.end);
    }
  }

  // Removes the call, and of the host's work before it the usual part before every call.
  void DropCall(uint32_t call) {
    setting_.durations[call] = 0;
    const int64_t usual = graph_.usual_lag_ns[static_cast<size_t>(EdgeKind::kThread)];
    for (Edge* edge = begin(call); edge != end(call); ++edge) {
      if (edge->kind != EdgeKind::kThread || edge->from_start) continue;
      edge->lag_ns = std::max<int64_t>(0, edge->lag_ns - usual);
    }
  }

  void SpeedCollectives() {
    for (uint32_t n = 0; n < graph_.nodes.size(); ++n) {
      if (graph_.nodes[n].work != ActivityClass::kCollective ||
          graph_.nodes[n].kind != NodeKind::kActivity) {
        continue;
      }
      ++out_.nodes;
      setting_.durations[n] =
          std::llround(static_cast<double>(setting_.durations[n]) / change_.collective_bandwidth);
    }
  }

  // Moves work of a class off its lane. It begins when its operands are ready and the previous one
  // of its class has ended. Later nodes of the lane do not wait for it; its users do.
  void SetAside(ActivityClass work) {
    setting_.aside.resize(graph_.nodes.size(), false);
    setting_.after.resize(graph_.nodes.size(), kNoNodeIndex);
    std::map<model::Id, uint32_t> newest;  // By device.
    int64_t without = 0;
    for (uint32_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (node.kind != NodeKind::kActivity || node.work != work) continue;
      const bool known = std::any_of(begin(n), end(n), [](const Edge& edge) {
        return edge.kind == EdgeKind::kData || edge.kind == EdgeKind::kLaunch;
      });
      if (!known || !HasLane(n)) {
        ++without;
        continue;
      }
      setting_.aside[n] = true;
      ++out_.nodes;
      out_.without_operands += HasOperand(n) ? 0 : 1;
      uint32_t& before =
          newest.try_emplace(input_.run.LaneOf(node.what).device_id, kNoNodeIndex).first->second;
      setting_.after[n] = before;
      before = n;
      for (Edge* edge = begin(n); edge != end(n); ++edge) {
        if (edge->kind == EdgeKind::kSeen) edge->lag_ns = kNoEdgeLagNs;
      }
    }
    if (without > 0) {
      out_.notes.push_back(fmt::format("{} {} stay where they are: what they need is not known",
                                       without,
                                       work == ActivityClass::kCopy ? "copies" : "collectives"));
    }
  }

  // All launches of an execution are one: those after the first cost the host nothing, and the
  // device does not wait for them.
  void MergeLaunches() {
    if (!graph_.host_known) {
      out_.notes.emplace_back("launches cannot be merged: the host's calls are not recorded");
      return;
    }
    // By execution; if unknown, by step and device.
    std::map<std::pair<int64_t, int64_t>, uint32_t> first_calls;
    for (uint32_t n = 0; n < graph_.nodes.size(); ++n) {
      if (graph_.nodes[n].kind != NodeKind::kActivity) continue;
      const uint32_t activity = graph_.nodes[n].what;
      const uint32_t execution = input_.attribution.execution_of[activity];
      const std::optional<int32_t> step = input_.step_of[activity];
      if (execution == 0 && (!step || !input_.attribution.executions.empty())) continue;
      const std::pair<int64_t, int64_t> key =
          execution != 0
              ? std::pair<int64_t, int64_t>(-1, execution)
              : std::pair<int64_t, int64_t>(input_.run.LaneOf(activity).device_id, *step);
      for (Edge* edge = begin(n); edge != end(n); ++edge) {
        if (edge->kind != EdgeKind::kLaunch) continue;
        if (first_calls.try_emplace(key, edge->from).first->second == edge->from) continue;
        ++out_.nodes;
        DropCall(edge->from);
        // The host no longer prepares it.
        for (Edge* own = begin(edge->from); own != end(edge->from); ++own) {
          if (own->kind == EdgeKind::kThread && !own->from_start) own->lag_ns = 0;
        }
        if (!HasLane(n)) continue;
        edge->lag_ns = kNoEdgeLagNs;
        for (Edge* behind = begin(n); behind != end(n); ++behind) {
          if (behind->kind != EdgeKind::kBehind) continue;
          behind->lag_ns = graph_.usual_lag_ns[static_cast<size_t>(EdgeKind::kSeen)];
        }
      }
    }
  }

  // The host's work before this call takes no time.
  void HurryCall(uint32_t call) {
    for (Edge* edge = begin(call); edge != end(call); ++edge) {
      if (edge->kind == EdgeKind::kWait) edge->lag_ns = kNoEdgeLagNs;
      if (edge->kind == EdgeKind::kThread && !edge->from_start) {
        edge->lag_ns =
            std::min(edge->lag_ns, graph_.usual_lag_ns[static_cast<size_t>(EdgeKind::kThread)]);
      }
    }
  }

  void CloseGaps() {
    const auto chosen = [&](model::GapCause cause) {
      return std::find(change_.gaps.begin(), change_.gaps.end(), cause) != change_.gaps.end();
    };
    std::vector<bool> after_gap(input_.run.activities.size(), false);
    for (const model::GapRow& gap : input_.gaps) {
      const auto next = static_cast<size_t>(gap.next_activity_id) - 1;
      if (next < after_gap.size() && chosen(gap.cause)) after_gap[next] = true;
    }
    const bool all = change_.gaps.size() == model::Texts<model::GapCause>().size();
    for (uint32_t n = 0; n < graph_.nodes.size(); ++n) {
      if (graph_.nodes[n].kind != NodeKind::kActivity) continue;
      const bool in_gap = after_gap[graph_.nodes[n].what];
      if (!all && !in_gap) continue;
      if (in_gap) ++out_.nodes;
      for (Edge* edge = begin(n); edge != end(n); ++edge) {
        if (edge->kind == EdgeKind::kLaunch) {
          if (in_gap) HurryCall(edge->from);
          if (all && HasLane(n)) edge->lag_ns = kNoEdgeLagNs;
        } else if (edge->kind == EdgeKind::kBehind) {
          if (all) edge->lag_ns = graph_.usual_lag_ns[static_cast<size_t>(EdgeKind::kSeen)];
        } else if (edge->lag_ns != kNoEdgeLagNs) {
          edge->lag_ns =
              std::min(edge->lag_ns, graph_.usual_lag_ns[static_cast<size_t>(edge->kind)]);
        }
      }
    }
  }

  void CloseSingleGaps() {
    std::vector<bool> after_gap(input_.run.activities.size(), false);
    for (const uint32_t gap : change_.single_gaps) {
      if (gap >= input_.gaps.size() || input_.gaps[gap].next_activity_id <= 0) continue;
      after_gap[static_cast<size_t>(input_.gaps[gap].next_activity_id) - 1] = true;
    }
    for (uint32_t n = 0; n < graph_.nodes.size(); ++n) {
      if (graph_.nodes[n].kind != NodeKind::kActivity) continue;
      if (!after_gap[graph_.nodes[n].what]) continue;
      ++out_.nodes;
      for (Edge* edge = begin(n); edge != end(n); ++edge) {
        if (edge->kind == EdgeKind::kLaunch) {
          DropWaitBefore(edge->from);
          HurryCall(edge->from);
        } else if (edge->lag_ns != kNoEdgeLagNs) {
          edge->lag_ns =
              std::min(edge->lag_ns, graph_.usual_lag_ns[static_cast<size_t>(edge->kind)]);
        }
      }
    }
  }

  // The call that the host had made before this one returned without having waited.
  void DropWaitBefore(uint32_t call) {
    for (Edge* edge = begin(call); edge != end(call); ++edge) {
      if (edge->kind != EdgeKind::kThread || edge->from_start) continue;
      if (graph_.nodes[edge->from].kind != NodeKind::kReturn) continue;
      for (Edge* wait = begin(edge->from); wait != end(edge->from); ++wait) {
        if (wait->kind == EdgeKind::kWait) wait->lag_ns = kNoEdgeLagNs;
      }
    }
  }

  void LeaveAlone() {
    setting_.alone = true;
    for (const Node& node : graph_.nodes) out_.nodes += node.group != 0 ? 1 : 0;
    if (graph_.groups.size() <= 1) {
      out_.notes.emplace_back("no collective is known to be the same on several devices");
    }
  }

  const Graph& graph_;
  const Input& input_;
  const Change& change_;
  Setting setting_;
  std::vector<bool> gone_;  // By node, if any is removed.
  Applied out_;
};

// The setting's edges with a host that delays only nodes that it delayed before.
void WithoutHost(const Graph& graph, const Setting& setting, std::vector<Edge>& edges) {
  edges = setting.edges;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const size_t first = graph.first_edge[n], end = graph.first_edge[n + 1];
    bool left = first == end;
    for (size_t e = first; e < end; ++e) {
      Edge& edge = edges[e];
      if (edge.kind == EdgeKind::kLaunch && !edge.binding) edge.lag_ns = kNoEdgeLagNs;
      left = left || edge.lag_ns != kNoEdgeLagNs;
    }
    if (left) continue;
    for (size_t e = first; e < end; ++e) edges[e].lag_ns = setting.edges[e].lag_ns;
  }
}

// The setting's edges with a host that waited at every possible wait.
void WithWaits(const Graph& graph, const Setting& setting, std::vector<Edge>& edges) {
  edges = setting.edges;
  for (const MaybeWait& wait : graph.maybe_waits) {
    bool hurried = false;
    for (size_t e = graph.first_edge[wait.node]; e < graph.first_edge[wait.node + 1]; ++e) {
      Edge& edge = edges[e];
      if (edge.kind != EdgeKind::kThread || edge.lag_ns == kNoEdgeLagNs) continue;
      hurried = edge.lag_ns < graph.edges[e].lag_ns;
      edge.lag_ns = std::min(edge.lag_ns, wait.lag_ns);
    }
    if (!hurried) edges[wait.edge].lag_ns = wait.lag_ns;
  }
}

// Half of the distance between the quartiles of the recorded steps.
int64_t SpreadOf(const Graph& graph) {
  std::vector<int64_t> lengths;
  for (const Span& span : graph.spans) lengths.push_back(span.end_ns - span.start_ns);
  if (lengths.size() < 4) return 0;
  std::sort(lengths.begin(), lengths.end());
  return (lengths[lengths.size() * 3 / 4] - lengths[lengths.size() / 4]) / 2;
}

int64_t CachesGive(const Graph& graph, const Prediction& prediction) {
  if (!graph.on_cpu || prediction.recorded_ns <= prediction.predicted_ns) return 0;
  const double gone = 1.0 - static_cast<double>(prediction.predicted_ns) /
                                static_cast<double>(prediction.recorded_ns);
  return std::llround(kMaxCacheGainShare * gone * static_cast<double>(prediction.predicted_ns));
}

}  // namespace

bool Change::empty() const {
  return instructions.empty() && kernels.empty() && phases.empty() && op_kinds.empty() &&
         foreign_configs.empty() && OnlyScales();
}

bool Change::OnlyScales() const {
  return gaps.empty() && single_gaps.empty() && collective_bandwidth == 1 &&
         copies == CopyChange::kAsTheyAre && !collectives_early && !one_launch && !devices_even;
}

void Change::Add(const Change& other) {
  const auto faster = [](auto& own, const auto& added) {
    for (const auto& [what, factor] : added) {
      double& known = own.try_emplace(what, factor).first->second;
      known = std::min(known, factor);
    }
  };
  faster(instructions, other.instructions);
  faster(kernels, other.kernels);
  faster(phases, other.phases);
  faster(op_kinds, other.op_kinds);
  faster(foreign_configs, other.foreign_configs);
  own_time = own_time || other.own_time;
  gaps.insert(gaps.end(), other.gaps.begin(), other.gaps.end());
  single_gaps.insert(single_gaps.end(), other.single_gaps.begin(), other.single_gaps.end());
  collective_bandwidth = std::max(collective_bandwidth, other.collective_bandwidth);
  copies = std::max(copies, other.copies);
  collectives_early = collectives_early || other.collectives_early;
  one_launch = one_launch || other.one_launch;
  devices_even = devices_even || other.devices_even;
}

Applied Apply(const Graph& graph, const Input& input, const Change& change) {
  return Applier(graph, input, change).Run();
}

Prediction Predict(const Graph& graph, const Input& input, const Change& change,
                   const std::optional<ReplayError>& error, std::optional<int64_t> recorded_ns) {
  Prediction prediction;
  if (!recorded_ns) {
    ReplayInto(graph, {}, graph.edges, prediction.times);
    recorded_ns = StepLength(graph.spans, prediction.times);
  }
  prediction.recorded_ns = *recorded_ns;
  prediction.applied = Apply(graph, input, change);
  const Setting& setting = prediction.applied.setting;
  ReplayInto(graph, setting, setting.edges, prediction.times);
  prediction.predicted_ns = StepLength(prediction.applied.spans, prediction.times);
  prediction.low_ns = prediction.high_ns = prediction.predicted_ns;
  if (graph.host_known) {
    std::vector<Edge> edges;
    Times times;
    const auto hold = [&] {
      ReplayInto(graph, setting, edges, times);
      const int64_t step = StepLength(prediction.applied.spans, times);
      prediction.low_ns = std::min(prediction.low_ns, step);
      prediction.high_ns = std::max(prediction.high_ns, step);
    };
    WithoutHost(graph, setting, edges);
    hold();
    if (!graph.maybe_waits.empty()) {
      WithWaits(graph, setting, edges);
      hold();
    }
  }
  const double share = error ? static_cast<double>(error->milli_pct) / 100'000.0 : 0.0;
  const auto margin = std::max(std::llround(share * static_cast<double>(prediction.predicted_ns)),
                               static_cast<long long>(SpreadOf(graph)));
  prediction.low_ns =
      std::max<int64_t>(0, prediction.low_ns - margin - CachesGive(graph, prediction));
  prediction.high_ns += margin;
  return prediction;
}

const Span& TypicalSpan(const std::vector<Span>& all, const Times& times) {
  std::vector<const Span*> spans;
  for (const Span& span : all) {
    if (span.device_id == all.front().device_id) spans.push_back(&span);
  }
  if (spans.size() >= 3) spans.erase(spans.begin());
  std::sort(spans.begin(), spans.end(), [&](const Span* a, const Span* b) {
    return LengthOf(*a, times) < LengthOf(*b, times);
  });
  return *spans[(spans.size() - 1) / 2];
}

}  // namespace xlatrace::analysis::replay
