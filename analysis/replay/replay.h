// SPDX-License-Identifier: Apache-2.0

// Replay computes the start of every node of a graph: when all its causes have ended and the lags
// have passed. It is one pass with max and plus only. A faster node therefore never makes a step
// longer, and a step becomes shorter only if its critical path does.
//
// An unchanged replay reproduces the recorded times exactly, so it is no test. The replay error is.
// For it, every lag (between kernels, of launches, of wake-ups, of gaps) is replaced by the value
// of the same lag in the other steps. The resulting steps are compared with the recorded steps.
// Durations of ops, and of the host's work between calls, stay those of the step, as in a
// prediction. The value in the other steps is the mean, or the median for all lags if the median
// reproduces the steps better. A mean includes rare lags, as a step does, but a median ignores
// single outliers. In a run without steps only lags of scheduling (below 20 us) are replaced, by
// those of the same kind between the same ops. Then the whole run is compared. The host's work
// between two calls happens only once there, and stays as recorded.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_ANALYSIS_REPLAY_REPLAY_H_
#define XLATRACE_ANALYSIS_REPLAY_REPLAY_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analysis/replay/graph.h"

namespace xlatrace::analysis::replay {

// Differences of a replay from the recorded run. Empty vectors: as recorded.
struct Setting {
  std::vector<int64_t> durations;  // Per node.
  std::vector<Edge> edges;         // As Graph::edges; an edge with lag kNoEdgeLagNs is ignored.
  std::vector<bool> aside;         // Per node: later nodes of its lane do not wait for it.
  // Per node: another node that must have ended before, or kNoNodeIndex.
  std::vector<uint32_t> after;
  bool alone = false;  // Members of a group do not wait for each other.
};

struct Times {
  std::vector<int64_t> start_ns;  // Per node.
  std::vector<int64_t> end_ns;
};

Times Replay(const Graph& graph, const Setting& setting = {});
// As Replay, with these edges instead of those of the setting. Reuses the memory of `times`,
// because touching new memory takes longer than the pass over the graph.
void ReplayInto(const Graph& graph, const Setting& setting, const std::vector<Edge>& edges,
                Times& times);

// The last node of a span: among `ends`, the one that ends last.
uint32_t EndOf(const Span& span, const Times& times);
// Length of a span.
int64_t LengthOf(const Span& span, const Times& times);

// The typical step: the mean over the typical steps (or all steps, if none is typical) and the
// devices of each. Replay changes it by the ratio of replayed to recorded times. With at least
// three steps, the ratio leaves out the first step, because work queued before it stays as
// recorded.
int64_t StepLength(const std::vector<Span>& spans, const Times& times);

struct ReplayError {
  int64_t milli_pct = 0;          // Median over the steps of the relative error.
  int64_t largest_milli_pct = 0;  // The largest of all steps.
  size_t steps = 0;
};
// Empty if no step can be compared.
std::optional<ReplayError> MeasureError(const Graph& graph, const Input& input);

}  // namespace xlatrace::analysis::replay

#endif  // XLATRACE_ANALYSIS_REPLAY_REPLAY_H_
