// SPDX-License-Identifier: Apache-2.0

// The verdict as two lines: what is slow, and why.
//
// Thread-safety: pure.

#ifndef XLATRACE_REPORT_HEADLINE_H_
#define XLATRACE_REPORT_HEADLINE_H_

#include "report/run_view.h"
#include "report/verdict.h"

namespace xlatrace::report {

struct Headline {
  Sentence first, second;  // `second` may be empty.
};

// Both lines of the first screen. The first action stands below them, so that the verdict's reason
// is the second; without one, or where what is slow takes a line and more by itself (names of
// kernels are long), its lede is. Without actions the lede follows the reason.
Headline HeadlineOf(const RunView& view, const Verdict& verdict);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_HEADLINE_H_
