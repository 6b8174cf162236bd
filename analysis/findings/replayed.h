// SPDX-License-Identifier: Apache-2.0

// Savings of findings, by replay: each finding's change alone, and all changes together.
//
// A rule may set the effect of its advice (Finding::change). Otherwise the change follows from the
// claims: ops become faster by the rule's saving, and gaps are closed. The rule's saving is an
// upper bound, because it counts time anywhere. Replay computes how much shorter the step becomes.
// Findings that cannot be replayed keep the rule's figures ("at most"). Ops on parallel threads of
// a CPU do, too. There the pool gives a free thread the work of the others, and cores share their
// caches, but replay leaves each op on its thread. In a training whose scan saved less, the
// estimate was a fifth of the real saving (docs/explanation/replay.md).
//
// Thread-safety: immutable after construction; borrows its arguments.

#ifndef XLATRACE_ANALYSIS_FINDINGS_REPLAYED_H_
#define XLATRACE_ANALYSIS_FINDINGS_REPLAYED_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "analysis/findings/context.h"
#include "analysis/findings/report.h"
#include "analysis/replay/run_replay.h"

namespace xlatrace::analysis::findings {

class Replayed {
 public:
  Replayed(const Context& context, const replay::RunReplay& replay);

  // Replaces the rule's savings by those of the replay. `saves_high_ns` is how much shorter the
  // step becomes. `saves_low_ns` is the lower end (range of the replay, and the rule's certain
  // part). Sets `change`, `at_most_ns`, basis and error. A finding that cannot be replayed keeps
  // its figures. A finding that removes a wait keeps them if the replayed saving is less than
  // `least_ns`, because another change may save more.
  void Price(int64_t least_ns, Finding& finding) const;

  // Length of the step with this change; empty if no step is predicted.
  std::optional<int64_t> StepWith(const replay::Change& change) const;

 private:
  std::optional<replay::Change> ChangeOf(const Finding& finding) const;
  // The largest saving of a step of several devices by faster ops, as a mean over all steps. The
  // slowest device determines the step, so each op counts with its saving on the device where this
  // is largest.
  int64_t MostSaved(const replay::Change& change) const;
  // Times are means of all devices, but a step ends with the slowest device. If the step becomes
  // shorter by more than the mean time of the changed ops, adds their time on the longest device.
  void AddLongestDevice(const replay::Change& change, Finding& finding) const;

  const Context& context_;
  const replay::RunReplay& replay_;
  std::map<std::string, const Op*, std::less<>> ops_;  // By handle.
};

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_REPLAYED_H_
