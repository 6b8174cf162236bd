// SPDX-License-Identifier: Apache-2.0

// The answer to "what changed?" in one sentence, and how sure it is.
//
// Steps of one run say how much steps differ, not how much runs do: two runs of one program differ
// by far more than their steps let expect (docs/compare.md). So with one run a side a difference of
// time is never called established; what the program does (kernels, counts, bytes, fusions) is
// certain. With several runs a side, the interval is that of a hierarchical bootstrap.
//
// Thread-safety: pure.

#ifndef XLATRACE_COMPARE_VERDICT_H_
#define XLATRACE_COMPARE_VERDICT_H_

#include <optional>
#include <string>
#include <vector>

#include "compare/changes.h"
#include "compare/comparison.h"
#include "compare/statistics.h"

namespace xlatrace::compare {

struct Verdict {
  std::string sentence;
  // What the first clause says, where it is more than the times: "Slower: the same work takes about
  // 13% longer". Empty where times of steps or calls answer.
  std::string outcome;
  // The same without the times, for a place that has them already: "What changed: ...". Where the
  // sentence's times are of something else, the whole sentence.
  std::string changed;
  std::string noise;  // What the difference of time is worth, as a sentence.
  bool established = false;
  std::optional<Interval> interval;  // Of the difference of step times in ns, where runs allow one.
};

// `base_runs`, `now_runs`: all runs of the sides, of which the compared ones are representatives.
Verdict Judge(const Run& base, const Run& now, const Comparison& comparison,
              const std::vector<Change>& changes, const std::vector<const Run*>& base_runs,
              const std::vector<const Run*>& now_runs);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_VERDICT_H_
