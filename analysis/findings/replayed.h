// SPDX-License-Identifier: Apache-2.0

// What findings save, by replay: each finding's change alone, and all of them together.
//
// A rule may say what its advice changes (Finding::change). Of the others it follows from what they
// claim: ops take as much less as the rule says they may, gaps are closed. What the rule says is
// an upper bound for time that counts wherever it is; replay tells how much shorter the step gets.
// What cannot be replayed keeps the rule's figures ("at most"). So does what runs on the threads of
// a CPU side by side: its pool gives a thread that is free the work of the others, and cores share
// their caches, while replay leaves each op where it ran. What it says is no estimate there, and in
// a training whose scan saved less it was a fifth of the truth (docs/explanation/replay.md).
//
// Thread-safety: immutable once made; borrows what it is made of.

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

  // Puts replay's figures in place of the rule's: `saves_high_ns` is by how much the step gets
  // shorter, `saves_low_ns` the least of it (the range of the replay, and what the rule is sure
  // of). Sets `change`, `at_most_ns`, the basis and the error. Leaves alone what cannot be
  // replayed, or saves less than `least_ns` though it is not the change alone that could cure it.
  void Price(int64_t least_ns, Finding& finding) const;

  // The step with this change; nothing where nothing is predicted.
  std::optional<int64_t> StepWith(const replay::Change& change) const;

 private:
  std::optional<replay::Change> ChangeOf(const Finding& finding) const;
  // The most that a step of several devices can save by ops that take less, mean of all steps: it
  // saves what the slowest does, so of each op what that takes less where this is most.
  int64_t MostSaved(const replay::Change& change) const;
  // Times are means of all devices, and a step ends with the slowest: where the step gets shorter
  // by more than the changed ops take on average, what they take on the device that needs most.
  void AddLongestDevice(const replay::Change& change, Finding& finding) const;

  const Context& context_;
  const replay::RunReplay& replay_;
  std::map<std::string, const Op*, std::less<>> ops_;  // By handle.
};

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_REPLAYED_H_
