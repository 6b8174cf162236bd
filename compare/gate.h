// SPDX-License-Identifier: Apache-2.0

// May a change be merged? Facts that do not depend on time are compared as they are; times are
// judged by runs: the same program run twice differs by more than the steps of one run let expect.
//
//   at least 4 runs a side      regression when the whole 95 % interval of the ratio (hierarchical
//                               bootstrap over runs, then steps) lies beyond the limit
//   a baseline of 5 or more     regression when the new value is beyond the limit and beyond what
//                               the baseline's own spread lets expect (1 in 500)
//   fewer                       never a regression of time: "not established"
// Both of the mean and of the median of the middle half of a run's steps: a host that held up a few
// is no slower program (where the mean of all is beyond the limit and beyond chance, no pass
// either). A run whose steps scatter twice as far as those of the earlier ones, and by over 1 %,
// was beside other work: never a regression. Judged are the step's wall time, and the device time
// of a call of the main program, which a busy host does not stretch; where other programs take part
// in the step, its device time. Where a run has no steady steps, calls are judged in their place.
// Of several ops or phases those count that Benjamini-Hochberg leaves at a rate of 1 %, and that
// moved by more than an absolute floor.
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
  int64_t floor_ns = 0;           // Per step; 0: a thousandth of the step, at least 1 us.
  std::set<std::string> ignored;  // Names of facts.
};

struct Check {
  std::string name;  // "step", "device time", "device time of a call", "call", "phase backward",
                     // "op ...", "fact launches".
  Outcome outcome = Outcome::kPass;
  double base = 0, now = 0;
  bool is_time = true;  // Else a count or bytes.
  std::string text;     // The reason, a sentence.
};

struct GateResult {
  Outcome outcome = Outcome::kPass;
  std::string sentence;
  std::vector<Check> checks;  // Regressions first.
};

inline constexpr size_t kLeastRuns = 4;  // A side, without a baseline.
inline constexpr size_t kLeastBaseline = 5;

// `base`: the runs of the base side, or those of a baseline from the last accepted change on.
GateResult JudgeGate(const std::vector<RunRecord>& base, const std::vector<RunRecord>& now,
                     const GateOptions& options);

// Names of the facts, for the command line.
std::vector<std::string_view> FactNames();

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_GATE_H_
