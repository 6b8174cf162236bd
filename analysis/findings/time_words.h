// SPDX-License-Identifier: Apache-2.0

// The words in which rules say what a time is a time of. Where a run has no step, the same is said
// of the whole run, so a rule takes these from its context (Context::words) when it writes. Rules
// that only judge steady steps say "per step" themselves.
//
// Thread-safety: plain data.

#ifndef XLATRACE_ANALYSIS_FINDINGS_TIME_WORDS_H_
#define XLATRACE_ANALYSIS_FINDINGS_TIME_WORDS_H_

#include <string>
#include <string_view>

namespace xlatrace::analysis::findings {

struct TimeWords {
  std::string whole;  // "of the {}": what idle time is a share of, itself in it.
  // Behind a time or a number: the mean of a steady step, or the sum over the run.
  std::string_view per_step;
  // Behind a share. Of a run it is one of the time in which its devices are busy
  // (Context::ShareOfStep); shares that have idle time in their whole are of `whole`.
  std::string_view of_step;
  // Behind a share that the time of ops has (Context::ShareOfWork).
  std::string_view of_work;

  // "12.3 ms per step"; what a number of the evidence is called: "such copies, per step".
  std::string PerStep(std::string_view what) const {
    return std::string(what).append(" ").append(per_step);
  }
  // "3.4% of the step".
  std::string OfStep(std::string_view share) const {
    return std::string(share).append(" ").append(of_step);
  }
};

inline const TimeWords kStepWords = {"step", "per step", "of the step", "of the step"};
inline const TimeWords kRunWords = {"run", "in the run", "of busy time", "of busy time"};

}  // namespace xlatrace::analysis::findings

#endif  // XLATRACE_ANALYSIS_FINDINGS_TIME_WORDS_H_
