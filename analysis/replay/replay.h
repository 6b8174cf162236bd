// SPDX-License-Identifier: Apache-2.0

// Replay: when every node of a graph begins, each as soon as what it waits for is over and the lag
// has passed. One pass, max and plus only: so nothing that takes less time makes a step longer, and
// a step gets no shorter where nothing on its critical path does.
//
// Unchanged, it gives the recorded times back to the nanosecond, which says nothing. The replay
// error does: every lag (between kernels, of launches, of waking up, of
// gaps that nothing explains) is replaced by what the same lag is in the other steps, and the
// steps that this gives are compared with those that were recorded. Durations, of ops and
// of what the host does between its calls, stay those of the step, as they do in a prediction. What
// a lag is in the other steps is their mean, or for all lags the median, whichever gives the steps
// back better: a step is a sum, so what comes now and then counts by its mean, but a single outlier
// is no sign of anything. Of a run without steps only lags of scheduling (below 20 us) are
// replaced, by that of the others of their kind between the same ops, and the whole run is
// compared: how long the host worked between two calls happens once, and is taken as it was.
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

// What is to be replayed instead of what was recorded. Empty vectors: as recorded.
struct Setting {
  std::vector<int64_t> durations;  // Per node.
  std::vector<Edge> edges;         // As Graph::edges; an edge with lag kNoEdge does not count.
  std::vector<bool> aside;         // Per node: what follows on its lane does not wait for it.
  std::vector<uint32_t> after;     // Per node: one more that must have ended, or kNoNode.
  bool alone = false;              // Members of a group wait for none of the others.
};

struct Times {
  std::vector<int64_t> start_ns;  // Per node.
  std::vector<int64_t> end_ns;
};

Times Replay(const Graph& graph, const Setting& setting = {});
// The same with these edges instead of the setting's, into times of which the memory is used again:
// to touch new memory takes longer than to walk the graph.
void ReplayInto(const Graph& graph, const Setting& setting, const std::vector<Edge>& edges,
                Times& times);

// The node that a span ends with: of `ends` the one that ends last.
uint32_t EndOf(const Span& span, const Times& times);
// Length of a span.
int64_t LengthOf(const Span& span, const Times& times);

// The typical step: the mean over the typical steps (if there are none, over all) and the devices
// of each. Replayed times change it by their ratio to the recorded ones. Of three and more steps
// the ratio leaves out the first: the work that was queued before it stays as recorded.
int64_t StepLength(const std::vector<Span>& spans, const Times& times);

struct ReplayError {
  int64_t milli_pct = 0;          // Median over the steps of the relative error.
  int64_t largest_milli_pct = 0;  // Of any step.
  size_t steps = 0;
};
// Nothing where there is nothing to compare.
std::optional<ReplayError> MeasureError(const Graph& graph, const Input& input);

}  // namespace xlatrace::analysis::replay

#endif  // XLATRACE_ANALYSIS_REPLAY_REPLAY_H_
