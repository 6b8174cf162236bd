// SPDX-License-Identifier: Apache-2.0

// The main change in one sentence, and its certainty.
//
// Facts of the program (kernels, counts, bytes, fusions) are certain. A difference of time has a
// result word and an interval (time_change.h). The sentence has one of three forms. Same program,
// same time. Same program, slower or faster, with the place. Changed program, with the change and
// the difference of time.
//
// Thread-safety: pure.

#ifndef XLATRACE_COMPARE_VERDICT_H_
#define XLATRACE_COMPARE_VERDICT_H_

#include <string>
#include <vector>

#include "compare/changes.h"
#include "compare/comparison.h"
#include "compare/time_change.h"

namespace xlatrace::compare {

struct Verdict {
  std::string sentence;
  // First clause: "Same program, slower by 12 to 15% (established)". Empty if the time per
  // iteration is not known.
  std::string outcome;
  // The sentence without the times, for places that show the times. If the sentence has other
  // times, the whole sentence.
  std::string changed;
  std::string noise;  // Reason for the result word, as a sentence.
  TimeChange time;
  bool same_program = false;  // And no certain change.
  bool established() const { return time.word == ResultWord::kEstablished || same_recording; }
  bool same_recording = false;
};

// `base_runs`, `now_runs`: all runs of the sides, represented by the compared runs.
Verdict ComputeVerdict(const Run& base, const Run& now, const Comparison& comparison,
                       const std::vector<Change>& changes, const std::vector<const Run*>& base_runs,
                       const std::vector<const Run*>& now_runs);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_VERDICT_H_
