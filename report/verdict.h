// SPDX-License-Identifier: Apache-2.0

// The one sentence at the top: what, where, how much of what; and the one below it.
//
// It says only what the run's data carries, and is the first of these that fits:
//   no device activity              no verdict; what to do about it
//   kernels without any module      no verdict, or the largest kernel where nothing is XLA's
//   no steady step, a merged job    who is waited for, among all ranks
//   no steady step                  of the whole run: the first finding that weighs enough, or
//                                   matrix products that are as they should be; else no verdict
//   records lost in steady steps    no verdict: idle time and missing data look alike
//   one op, half of the step        that op, where the first finding is about another and saves
//                                   less than a third of it
//   a finding that weighs enough    its sentence
//   one instruction, a quarter      that instruction with all its copies
//   one part of the step, 40 %      that part and its largest op
//   otherwise                       no single bottleneck, and the largest op
// A finding about one cause of idle time, or about less than what is idle, gives way to the sum of
// all of it with its causes; the order of the findings stays. Of steady steps with less than 95 %
// attributed the sentence says so first. It names no action of its own: actions are findings.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_REPORT_VERDICT_H_
#define XLATRACE_REPORT_VERDICT_H_

#include <string>
#include <vector>

#include "report/run_view.h"
#include "report/sentence.h"

namespace xlatrace::report {

struct Verdict {
  bool given = false;   // False: the sentence says why there is none.
  bool of_job = false;  // It is the answer of a merged job (run_info.job).
  Sentence sentence;
  Sentence headline, reason;  // The same as two: what is slow, and why; the second may be empty.
  Sentence lede;
  std::string op_handle;            // The op that the sentence names; empty: none.
  std::vector<Sentence> not_known;  // What the data cannot say, with how much time that is.
};

Verdict MakeVerdict(const RunView& view);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_VERDICT_H_
