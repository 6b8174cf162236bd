// SPDX-License-Identifier: Apache-2.0

// Predicts the length of a step after a change: the graph replayed with the change.
//
// A change is applied to every step; the result is the median step. Its range covers the
// assumptions of the graph: a host that delays only where it did, and a host that waited wherever
// it may have. The range also covers the replay error and the spread of the recorded steps
// (quartiles). On a CPU it covers the caches left to the remaining ops. `notes` lists the parts of
// a change that cannot be replayed, for example because of an unknown operand.
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
  // Factors on the time of an instruction (id) or kernel (symbol), including all activities nested
  // in it. Factor 0 removes it and the cost of its launch. A kernel of several instructions is
  // scaled in part.
  std::map<uint32_t, double> instructions;
  std::map<std::string, double> kernels;
  std::map<model::Phase, double> phases;
  std::map<model::OpKind, double> op_kinds;
  // Factors for activities without an instruction, by configuration (id).
  std::map<uint32_t, double> foreign_configs;
  // True: factors apply to an activity's own time; nested activities keep theirs.
  bool own_time = false;
  // The device never waits for these causes of gaps; lags of scheduling are unchanged.
  std::vector<model::GapCause> gaps;
  // Removes single gaps, by position in Input::gaps. A wait of the host for the device before such
  // a gap is also removed.
  std::vector<uint32_t> single_gaps;  // In any order; duplicates count once.
  double collective_bandwidth = 1;    // Factor.
  CopyChange copies = CopyChange::kAsTheyAre;
  bool collectives_early = false;  // Each collective starts when its operands are ready.
  // Only the first launch of an execution (if unknown: of a step) needs the host.
  bool one_launch = false;
  bool devices_even = false;  // No device waits for another in a collective.

  bool empty() const;
  // True if the change has only factors.
  bool OnlyScales() const;
  // Adds a change. If both changes make an op faster, only the larger effect counts, because they
  // save the same time.
  void Add(const Change& other);
};

// A change as applied to a graph. `notes`: the parts that could not be applied.
struct Applied {
  Setting setting;
  std::vector<Span> spans;  // If a step begins or ends with a removed node, its span begins or ends
                            // with the next node.
  int64_t nodes = 0;        // Number of nodes that the change affects.
  // Nodes that should begin with their operands but keep their launch, because operands are
  // unknown.
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
// `error`: replay error; empty if unknown. `recorded_ns`: the step's length in the replay without
// changes, if already computed.
Prediction Predict(const Graph& graph, const Input& input, const Change& change,
                   const std::optional<ReplayError>& error,
                   std::optional<int64_t> recorded_ns = std::nullopt);

// The step whose path is shown: the span of median length on the first device.
const Span& TypicalSpan(const std::vector<Span>& spans, const Times& times);

// If the replay error is larger, there are no predictions.
inline constexpr int64_t kMaxErrorMilliPct = 5'000;

}  // namespace xlatrace::analysis::replay

#endif  // XLATRACE_ANALYSIS_REPLAY_WHAT_IF_H_
