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

// "What is slow: names and figures" as two lines: names stand on one of their own. Where the
// sentence is one line, the second is empty.
Headline SplitSentence(const Sentence& sentence);

// Both lines of the first screen. The first action stands below them, so that what the sentence
// names is the reason; without it, or without actions, the verdict's own second sentence is.
Headline HeadlineOf(const RunView& view, const Verdict& verdict);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_HEADLINE_H_
