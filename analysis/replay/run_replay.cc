// SPDX-License-Identifier: Apache-2.0
#include "analysis/replay/run_replay.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/replay/critical_path.h"
#include "base/number_format.h"

namespace xlatrace::analysis::replay {
namespace {

std::vector<model::HostEvent> WaitsOf(const HostEventLoader& load_events,
                                      const std::vector<model::StepRow>& steps) {
  if (!load_events || steps.empty()) return {};
  Intervals all(1);
  all[0].start_ns = INT64_MAX;
  all[0].end_ns = INT64_MIN;
  for (const model::StepRow& step : steps) {
    all[0].start_ns = std::min(all[0].start_ns, step.start_ns);
    all[0].end_ns = std::max(all[0].end_ns, step.end_ns);
  }
  std::vector<model::HostEvent> waits = load_events(all);
  std::erase_if(waits, [](const model::HostEvent& event) {
    return event.range_id != 0 || event.name.find("Synchronize") == event.name.npos;
  });
  return waits;
}

}  // namespace

RunReplay::RunReplay(const model::RunTables& run, const model::AttributionTables& attribution,
                     const std::vector<ActivityClass>& classes, const HostEventLoader& load_events,
                     const HostCallOf& call_of, const model::AnalysisTables& analysis)
    : waits_(WaitsOf(load_events, analysis.steps)),
      input_{run, attribution, analysis.steps, analysis.step_of, analysis.gaps, call_of, waits_} {
  if (analysis.steps.empty()) return;
  graph_ = BuildGraph(input_, classes, {.most_activities = kMaxReplayedActivities});
  error_ = MeasureError(graph_, input_);
  recorded_ = Replay(graph_);
}

std::optional<Prediction> RunReplay::With(const Change& change) const {
  if (empty() || withheld()) return std::nullopt;
  Prediction prediction =
      Predict(graph_, input_, change, error_, StepLength(graph_.spans, recorded_));
  if (prediction.applied.nodes == 0) return std::nullopt;
  return prediction;
}

bool RunReplay::withheld() const { return !error_ || error_->milli_pct > kMaxErrorMilliPct; }

void RunReplay::Fill(model::AnalysisTables& analysis) const {
  if (empty()) return;
  const Times& times = recorded_;
  std::map<std::pair<int64_t, model::Id>, int64_t> end_of_step;  // By step and device.
  for (const model::StepRow& row : analysis.steps) {
    end_of_step.try_emplace({row.step, row.device_id}, row.end_ns);
  }
  for (const Span& span : graph_.spans) {
    // A step that a pause cut short has no end to go back from.
    const auto end = end_of_step.find({span.step, span.device_id});
    if (end == end_of_step.end() || end->second != span.end_ns) continue;
    for (const PathPart& part : CriticalPath(graph_, times, span, {}, PathOver::kOwnDevice)) {
      analysis.critical_path.push_back({span.step, span.device_id,
                                        static_cast<int64_t>(graph_.nodes[part.node].what) + 1,
                                        part.start_ns, part.end_ns, part.kind});
    }
  }
  std::stable_sort(analysis.critical_path.begin(), analysis.critical_path.end(),
                   [](const model::CriticalPathRow& a, const model::CriticalPathRow& b) {
                     return std::pair(a.step, a.device_id) < std::pair(b.step, b.device_id);
                   });
  FillOps(times, analysis);
  model::ReplayRow& row = analysis.replays.emplace_back();
  row.steps = static_cast<int64_t>(graph_.spans.size());
  row.step_ns = StepLength(graph_.spans, times);
  if (error_) {
    row.error_milli_pct = error_->milli_pct;
    row.largest_error_milli_pct = error_->largest_milli_pct;
  }
  if (withheld()) {
    row.withheld =
        fmt::format("replay gives the recorded steps back within {}% only",
                    Percent(error_ ? static_cast<double>(error_->milli_pct) / 1000 : 100.0, 100));
  }
  row.assumptions_json = nlohmann::json(graph_.assumptions).dump();
}

// For each op: its time in the graph, its part on a path, and the slack of the rest.
void RunReplay::FillOps(const Times& times, model::AnalysisTables& analysis) const {
  std::vector<int64_t> on_path(input_.run.activities.size(), 0);
  for (const model::CriticalPathRow& row : analysis.critical_path) {
    if (row.kind == model::PathKind::kHost || row.kind == model::PathKind::kGap) continue;
    on_path[static_cast<size_t>(row.activity_id) - 1] += row.end_ns - row.start_ns;
  }
  struct OfOp {
    int64_t ns = 0, path_ns = 0;
    std::vector<int64_t> slacks;
  };
  std::unordered_map<int64_t, OfOp> ops;  // By instruction id.
  const std::vector<int64_t> slack = SlackOf(graph_, times);
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    const Node& node = graph_.nodes[n];
    if (node.kind != NodeKind::kActivity) continue;
    const uint32_t label = input_.attribution.label_of[node.what];
    const int64_t id = input_.attribution.labels[label - 1].instruction_id;
    if (id == 0) continue;
    OfOp& op = ops[id];
    op.ns += times.end_ns[n] - times.start_ns[n];
    if (!node.last_piece) continue;
    op.path_ns += on_path[node.what];
    if (on_path[node.what] == 0 && slack[n] != INT64_MAX) op.slacks.push_back(slack[n]);
  }
  for (model::OpTimeRow& row : analysis.op_times) {
    const auto op = ops.find(row.instruction_id);
    if (row.instruction_id == 0 || op == ops.end() || op->second.ns <= 0) continue;
    row.critical_milli_pct = std::min<int64_t>(
        100'000, static_cast<int64_t>(100'000.0 * static_cast<double>(op->second.path_ns) /
                                      static_cast<double>(op->second.ns)));
    std::vector<int64_t>& slacks = op->second.slacks;
    if (slacks.empty()) continue;
    const auto middle = slacks.begin() + static_cast<std::ptrdiff_t>(slacks.size() / 2);
    std::nth_element(slacks.begin(), middle, slacks.end());
    row.slack_ns = *middle;
  }
}

}  // namespace xlatrace::analysis::replay
