// SPDX-License-Identifier: Apache-2.0

// Results of replay in the analysis: the error, critical paths, and the share of every op that is
// on them.
//
// Only a part of a long run is replayed: the longest sequence of steady steps, cut to about 100,000
// activities (whole steps, at least one). A run without steps has no results here; `what-if`
// replays it as a whole. Thread-safety: pure functions.

#ifndef XLATRACE_ANALYSIS_REPLAY_RUN_REPLAY_H_
#define XLATRACE_ANALYSIS_REPLAY_RUN_REPLAY_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "analysis/gap_cause.h"
#include "analysis/replay/graph.h"
#include "analysis/replay/replay.h"
#include "analysis/replay/what_if.h"
#include "analysis/timeline.h"
#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::analysis::replay {

inline constexpr size_t kMaxReplayedActivities = 100'000;

// Borrows the arguments of its constructor.
class RunReplay {
 public:
  // `analysis` holds steps, gaps and ops. `load_events` may be empty.
  RunReplay(const model::RunTables& run, const model::AttributionTables& attribution,
            const std::vector<ActivityClass>& classes, const HostEventLoader& load_events,
            const HostCallOf& call_of, const model::AnalysisTables& analysis);

  // Fills critical_path, replays, and the columns of op_times that come from it.
  void Fill(model::AnalysisTables& analysis) const;

  bool empty() const { return graph_.spans.empty(); }
  // True if no predictions are made.
  bool withheld() const;
  const Graph& graph() const { return graph_; }
  const Input& input() const { return input_; }
  const std::optional<ReplayError>& error() const { return error_; }

  // The steps with a change; empty if nothing is predicted, or if the change concerns no replayed
  // activity.
  std::optional<Prediction> With(const Change& change) const;

 private:
  void FillOps(const Times& times, model::AnalysisTables& analysis) const;

  std::vector<model::HostEvent> waits_;
  Input input_;
  Graph graph_;
  std::optional<ReplayError> error_;
  Times recorded_;  // Times of the unchanged graph.
};

}  // namespace xlatrace::analysis::replay

#endif  // XLATRACE_ANALYSIS_REPLAY_RUN_REPLAY_H_
