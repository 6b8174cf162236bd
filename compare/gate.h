// SPDX-License-Identifier: Apache-2.0

// Decides whether a change may be merged. Facts that do not depend on time are compared directly.
// Times are compared between runs, because runs of one program differ by more than the steps of one
// run.
//
//   at least 4 runs per side   regression if the whole 95 % interval of the ratio (hierarchical
//                              bootstrap over runs, then steps) is beyond the limit
//   a baseline of at least 5   regression if the new value is beyond the limit and beyond the
//                              prediction from the spread of the baseline (1 in 500)
//   fewer                      regression if the change is established with the usual variation
//                              between runs (time_change.h), and its 95 % interval is beyond the
//                              limit
//
// Launches, fusions, bytes and FLOPs stand for time. They are no regression if the time per step
// or call fell.
//
// The mean and the median of the middle half of a run's steps must both exceed the limit. The
// reason is that a host that delays a few steps does not make the program slower. If only the mean
// of all steps is beyond the limit and beyond chance, the result is neither a regression nor a
// pass. A run ran beside other work if its steps scatter by over 1 %, and twice as far as those of
// earlier runs. It is never a regression.
//
// The compared times are the wall time of the step and the device time of a call of the main
// program. The device time does not depend on the load of the host. If other programs take part in
// the step, the device time of the step is used. If a run has no steady steps, the wall time from
// call to call replaces the step. Among several ops or phases, those count that Benjamini-Hochberg
// accepts at a rate of 1 % and that changed by more than an absolute minimum.
//
// Thread-safety: pure.

#ifndef XLATRACE_COMPARE_GATE_H_
#define XLATRACE_COMPARE_GATE_H_

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compare/run_record.h"

namespace xlatrace::compare {

enum class GateBy : uint8_t { kStep, kPhase, kOp };
enum class Outcome : uint8_t { kPass, kRegression, kNotComparable, kNotEstablished };
std::string_view Text(Outcome outcome);

struct GateOptions {
  double max_regress = 0.03;
  GateBy by = GateBy::kStep;
  int64_t floor_ns = 0;           // Minimum change per step; 0: a thousandth of the step, at least
                                  // 1 us.
  std::set<std::string> ignored;  // Names of facts.
};

struct Check {
  std::string name;  // "step", "device time", "device time of a call", "call", "phase backward",
                     // "op ...", "fact launches".
  Outcome outcome = Outcome::kPass;
  double base = 0, now = 0;
  bool is_time = true;  // False: the metric is a count or bytes.
  std::string text;     // The reason, a sentence.
};

struct GateResult {
  Outcome outcome = Outcome::kPass;
  std::string sentence;
  std::vector<Check> checks;  // Regressions first.
};

inline constexpr size_t kMinRuns = 4;  // Per side, without a baseline.
inline constexpr size_t kMinBaselineRuns = 5;

// `base`: the runs of the base side, or those of a baseline since the last accepted change.
GateResult EvaluateGate(const std::vector<RunRecord>& base, const std::vector<RunRecord>& now,
                        const GateOptions& options);

// Names of the facts, for the command line.
std::vector<std::string_view> FactNames();

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_GATE_H_
