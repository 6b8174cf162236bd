// SPDX-License-Identifier: Apache-2.0

// What a step would take after a change: the graph replayed with it.
//
// A change is applied to every step; the answer is the median step. Its range comes from what the
// graph assumes: the same change with a host that never is in the way unless it was, and with one
// that waited wherever it may have; the replay error, and how far the recorded steps themselves lie
// apart (quartiles); on a CPU caches that are left to what stays. What a change cannot do (an
// operand that is not known) is told, not guessed.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_ANALYSIS_REPLAY_WHAT_IF_H_
#define XLATRACE_ANALYSIS_REPLAY_WHAT_IF_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/replay/critical_path.h"
#include "analysis/replay/graph.h"
#include "analysis/replay/replay.h"

namespace xlatrace::analysis::replay {

enum class CopyChange : uint8_t { kAsTheyAre, kHidden, kGone };

struct Change {
  // Factor of what an instruction (id) or a kernel (symbol) takes, with all that nests in it; 0:
  // it is removed, with what its launch cost. Of a kernel that several instructions share, a part.
  std::map<uint32_t, double> instructions;
  std::map<std::string, double> kernels;
  std::map<model::Phase, double> phases;
  std::map<model::OpKind, double> op_kinds;
  // The same of activities of a configuration (id) that no instruction is known of.
  std::map<uint32_t, double> foreign_configs;
  // Factors are of an activity's own time: what nests in it takes as long as before.
  bool own_time = false;
  // The device never waits for what caused these gaps; lags of scheduling stay.
  std::vector<model::GapCause> gaps;
  // The same of single gaps, by position in Input::gaps; and the host, where it had waited for the
  // device before such a gap, had not.
  std::vector<uint32_t> single_gaps;  // In any order; the same one twice is the same gap.
  double collective_bandwidth = 1;    // Times as much.
  CopyChange copies = CopyChange::kAsTheyAre;
  bool collectives_early = false;  // Each starts when its operands are there, beside the others.
  // Of an execution (where none is known: of a step) only the first launch needs the host.
  bool one_launch = false;
  bool devices_even = false;  // No device waits for another in a collective.

  bool empty() const;
  // Nothing but factors.
  bool OnlyScales() const;
  // Both of them; of an op that both make faster the faster one counts: they save the same time.
  void Add(const Change& other);
};

// How a change looks on a graph. `notes`: what it could not do.
struct Applied {
  Setting setting;
  std::vector<Span> spans;  // Where a step begins or ends with what is removed, with what is next.
  int64_t nodes = 0;        // That it concerns.
  // Of what is to begin when its operands are there: how many go by their launch, for want of them.
  int64_t without_operands = 0;
  std::vector<std::string> notes;
};
Applied Apply(const Graph& graph, const Input& input, const Change& change);

struct Prediction {
  int64_t recorded_ns = 0;
  int64_t predicted_ns = 0;
  int64_t low_ns = 0, high_ns = 0;
  Applied applied;
  Times times;
};
// `error`: of the replay; nothing where it is not known. `recorded_ns`: the step's length as the
// replay of the graph without a change gives it, where that has been worked out.
Prediction Predict(const Graph& graph, const Input& input, const Change& change,
                   const std::optional<ReplayError>& error,
                   std::optional<int64_t> recorded_ns = std::nullopt);

// The step whose path is shown: of the first device the span of median length.
const Span& TypicalSpan(const std::vector<Span>& spans, const Times& times);

// Above this there are no predictions.
inline constexpr int64_t kLargestErrorMilliPct = 5'000;

}  // namespace xlatrace::analysis::replay

#endif  // XLATRACE_ANALYSIS_REPLAY_WHAT_IF_H_
