// SPDX-License-Identifier: Apache-2.0

// What the analysis says of a run by replay: the error, critical paths, and of every op how much of
// it is on them.
//
// A part of a long run stands for it: the longest row of steady steps, cut to some 100,000
// activities (whole steps, at least one). Of a run without steps nothing is said here; `what-if`
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

inline constexpr size_t kMostAnalysed = 100'000;

// Borrows all that it is made of.
class RunReplay {
 public:
  // `analysis` holds steps, gaps and ops. `load_events` may be empty.
  RunReplay(const model::RunTables& run, const model::AttributionTables& attribution,
            const std::vector<ActivityClass>& classes, const HostEventLoader& load_events,
            const HostCallOf& call_of, const model::AnalysisTables& analysis);

  // Fills critical_path, replays, and the columns of op_times that come from it.
  void Fill(model::AnalysisTables& analysis) const;

  bool empty() const { return graph_.spans.empty(); }
  // Nothing is predicted.
  bool withheld() const;
  const Graph& graph() const { return graph_; }
  const Input& input() const { return input_; }
  const std::optional<ReplayError>& error() const { return error_; }

  // The steps with a change; nothing where nothing is predicted, or the change concerns nothing of
  // what is replayed.
  std::optional<Prediction> With(const Change& change) const;

 private:
  void FillOps(const Times& times, model::AnalysisTables& analysis) const;

  std::vector<model::HostEvent> waits_;
  Input input_;
  Graph graph_;
  std::optional<ReplayError> error_;
  Times recorded_;  // Of the graph as it is.
};

}  // namespace xlatrace::analysis::replay

#endif  // XLATRACE_ANALYSIS_REPLAY_RUN_REPLAY_H_
