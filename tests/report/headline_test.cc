// SPDX-License-Identifier: Apache-2.0
#include "report/headline.h"

#include <string>

#include <gtest/gtest.h>

namespace xlatrace::report {
namespace {

// Without findings the first action follows the reason; with findings it stands below.
TEST(Headline, SecondLineIsTheReasonAndTheActionOnlyWithoutFindings) {
  Verdict verdict;
  verdict.sentence = {{"Alpha is 41%: beta."}};
  verdict.headline = {{"Alpha is 41%."}};
  verdict.reason = {{"Beta."}};
  verdict.lede = {{"Gamma."}};
  RunView view;
  EXPECT_EQ(PlainText(HeadlineOf(view, verdict).second), "Beta. Gamma.");
  view.findings.emplace_back();
  EXPECT_EQ(PlainText(HeadlineOf(view, verdict).second), "Beta.");
  verdict.headline = verdict.sentence = {{"Delta."}};
  verdict.reason.clear();
  EXPECT_EQ(PlainText(HeadlineOf(view, verdict).second), "Gamma.");
}

// Kernels of templates have such names; a line has 88 characters.
TEST(Headline, AfterALongNameTheActionIsTheSecondLine) {
  Verdict verdict;
  verdict.headline = {
      {"Alpha, the longest, "}, {std::string(50, 'k'), true}, {", covers 34.00 %."}};
  verdict.reason = {{"Epsilon."}};
  verdict.sentence = verdict.headline;
  verdict.sentence.push_back({" Epsilon."});
  verdict.lede = {{"Gamma."}};
  const RunView view;
  EXPECT_EQ(PlainText(HeadlineOf(view, verdict).second), "Epsilon. Gamma.");
  verdict.headline[1].text = std::string(52, 'k');  // 89 with the full stop.
  EXPECT_EQ(PlainText(HeadlineOf(view, verdict).second), "Epsilon. Gamma.");
  verdict.headline[1].text += "k";
  EXPECT_EQ(PlainText(HeadlineOf(view, verdict).first), PlainText(verdict.sentence));
  EXPECT_EQ(PlainText(HeadlineOf(view, verdict).second), "Gamma.");
}

}  // namespace
}  // namespace xlatrace::report
