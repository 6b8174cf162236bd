// SPDX-License-Identifier: Apache-2.0
#include "report/headline.h"

#include <string>

#include <gtest/gtest.h>

namespace xlatrace::report {
namespace {

// What the sentence names is the reason; the first action stands below the two lines.
TEST(Headline, TheReasonIsWhatTheSentenceNamesOrTheSecondSentence) {
  Verdict verdict;
  verdict.sentence = {{"The gradient is 41% of the step: the scatter."}};
  verdict.headline = {{"The gradient is 41% of the step."}};
  verdict.reason = {{"The scatter."}};
  verdict.lede = {{"First: cut it."}};
  RunView view;
  EXPECT_EQ(PlainText(HeadlineOf(view, verdict).second), "The scatter. First: cut it.");
  view.findings.emplace_back();
  EXPECT_EQ(PlainText(HeadlineOf(view, verdict).second), "The scatter.");
  verdict.headline = verdict.sentence = {{"One line."}};
  verdict.reason.clear();
  EXPECT_EQ(PlainText(HeadlineOf(view, verdict).second), "First: cut it.");
}

// Such as kernels of templates have: a line of 88 characters has no room for them.
TEST(Headline, BehindALongNameTheLedeIsTheSecondLine) {
  Verdict verdict;
  verdict.headline = {
      {"The largest kernel, "}, {std::string(50, 'k'), true}, {", is 34.0% of it."}};
  verdict.reason = {{"Nothing is XLA's."}};
  verdict.sentence = verdict.headline;
  verdict.sentence.push_back({" Nothing is XLA's."});
  verdict.lede = {{"First: look."}};
  const RunView view;
  EXPECT_EQ(PlainText(HeadlineOf(view, verdict).second), "Nothing is XLA's. First: look.");
  verdict.headline[1].text = std::string(52, 'k');  // 89 with the full stop.
  EXPECT_EQ(PlainText(HeadlineOf(view, verdict).second), "Nothing is XLA's. First: look.");
  verdict.headline[1].text += "k";
  EXPECT_EQ(PlainText(HeadlineOf(view, verdict).first), PlainText(verdict.sentence));
  EXPECT_EQ(PlainText(HeadlineOf(view, verdict).second), "First: look.");
}

}  // namespace
}  // namespace xlatrace::report
