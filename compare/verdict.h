// SPDX-License-Identifier: Apache-2.0

// The main change in one sentence, and its certainty.
//
// Runs of one program differ by far more than the steps of one run (docs/how-to/compare.md). So
// with one run per side, a difference of time is never called established. Facts of the program
// (kernels, counts, bytes, fusions) are certain. With several runs per side, the interval comes
// from a hierarchical bootstrap.
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
  // First clause, if it is more than the times: "Slower: the same work takes about 13% longer".
  // Empty if times of steps or calls are the result.
  std::string outcome;
  // The sentence without the times, for a place that shows them: "What changed: ...". If the times
  // of the sentence are other ones, the whole sentence.
  std::string changed;
  std::string noise;  // Significance of the time difference, as a sentence.
  bool established = false;
  std::optional<Interval>
      interval;  // For the difference of step times in ns, if the runs allow one.
};

// `base_runs`, `now_runs`: all runs of the sides. The compared ones represent them.
Verdict Judge(const Run& base, const Run& now, const Comparison& comparison,
              const std::vector<Change>& changes, const std::vector<const Run*>& base_runs,
              const std::vector<const Run*>& now_runs);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_VERDICT_H_
