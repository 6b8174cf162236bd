// SPDX-License-Identifier: Apache-2.0

// What the verdict can say of a run: each statement as one sentence, and as two, with figures of
// the run. Which of them it is, verdict.cc decides.
//
// Thread-safety: re-entrant. Holds the view by reference.

#ifndef XLATRACE_REPORT_VERDICT_SENTENCES_H_
#define XLATRACE_REPORT_VERDICT_SENTENCES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/op_fold.h"
#include "report/run_view.h"
#include "report/sentence.h"

namespace xlatrace::report {

// What is slow and why.
struct Said {
  Sentence sentence;           // Both.
  Sentence headline, reason;   // The same as two; the second may be empty.
  std::string op_handle = {};  // The op that is named; empty: none.
  bool of_idle = false;        // All idle time is told.
};

Said OneLine(const Sentence& sentence);

class VerdictSentences {
 public:
  explicit VerdictSentences(const RunView& view) : view_(view), ops_(FoldOps(view)) {}

  const FoldedOp* TopOp() const { return ops_.empty() ? nullptr : &ops_[0]; }

  // The finding's sentence. Where it is one of several causes of idle time, all of that instead;
  // where it is less than what is idle, what is slow after that.
  Said OfFinding(const FindingFigure& finding) const;
  // "One instruction is 61.3% of device time: `dot.1` (gemm, a.py:3) takes 10.2 of 16.7 ms of
  // device time per step." `partly`: of what could be attributed, `whole_ns`.
  Said OfOp(const FoldedOp& op, int64_t whole_ns, bool partly) const;
  // "Backward is 53.2% of the step (12.5 of 23.6 ms). Its largest op, ..."
  Said OfPart(model::StepPart part) const;
  Said NoBottleneck() const;
  // "The largest op, `x` (gemm in mlp, a.py:3), is 3.1% of device time."; the largest kernel where
  // there is no op.
  Sentence LargestOp() const;
  Sentence LargestKernel() const;

 private:
  std::optional<Said> AllIdle(const FindingFigure& finding) const;
  Sentence NameOf(const FoldedOp& fold) const;
  Sentence LargestOf(model::StepPart part, const FoldedOp& op) const;
  const FoldedOp* TopOpOf(model::StepPart part) const;

  const RunView& view_;
  std::vector<FoldedOp> ops_;
};

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_VERDICT_SENTENCES_H_
