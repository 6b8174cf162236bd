// SPDX-License-Identifier: Apache-2.0

// Words for the basis of a time. For a run without steps, figures are of the whole run, so a rule
// takes these words from its context (Context::words). Rules that need steady steps write
// "per step" themselves.
//
// Thread-safety: plain data.

#ifndef XLATRACE_ANALYSIS_FINDINGS_TIME_WORDS_H_
#define XLATRACE_ANALYSIS_FINDINGS_TIME_WORDS_H_

#include <string>
#include <string_view>

namespace xlatrace::analysis::findings {

struct TimeWords {
  std::string whole;  // "of the {}": the whole of idle time, which includes the idle time.
  // After a time or a number: the mean of a steady step, or the sum over the run.
  std::string_view per_step;
  // After a share. In a run without steps: share of the time in which devices are busy
  // (Context::ShareOfStep). Shares that include idle time in their whole use `whole`.
  std::string_view of_step;
  // After a share of the time of ops (Context::ShareOfWork).
  std::string_view of_work;

  // "12.3 ms per step"; also used for names in evidence: "such copies, per step".
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
