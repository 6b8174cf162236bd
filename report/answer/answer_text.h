// SPDX-License-Identifier: Apache-2.0

// The sentences of the answer, which all outputs print.
//
// Thread-safety: pure.

#ifndef XLATRACE_REPORT_ANSWER_ANSWER_TEXT_H_
#define XLATRACE_REPORT_ANSWER_ANSWER_TEXT_H_

#include <string>

#include "report/run_view.h"
#include "report/sentence.h"

namespace xlatrace::report {

struct AnswerText {
  bool given = false;  // False: the file has no time to account for, and `first` is the reason.
  // About the run if steps have less than half of its time, otherwise about the step.
  Sentence first;
  Sentence second;        // The step, if the run is first. May be empty.
  Sentence reason;        // The largest part of the last named part, and the cause of its time.
  std::string op_handle;  // The handle of the named op; empty: none.

  Sentence All() const;         // `first` and `second`.
  Sentence BelowFirst() const;  // `second` and `reason`.
};

AnswerText TextOf(const RunView& view);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_ANSWER_ANSWER_TEXT_H_
