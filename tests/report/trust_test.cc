// SPDX-License-Identifier: Apache-2.0

// Attribution and trust, as the head of the page and the page "Run" show them.

#include "report/trust.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/golden_text/golden_text.h"

namespace xlatrace::report {
namespace {

using testing::HasSubstr;

// 12 steady steps of 100 ns, all of it with exact labels.
RunView Clean() {
  RunView view;
  view.basis.steady = true;
  view.steps.steady_count = 12;
  view.coverage.device_ns = view.coverage.exact_ns = 100;
  view.coverage.activities = 12;
  view.run_coverage = view.coverage;
  return view;
}

// The same without an instruction anywhere, for these reasons.
RunView Without(std::vector<ReasonFigure> reasons) {
  RunView view = Clean();
  view.coverage.exact_ns = 0;
  view.coverage.none_ns = 100;
  view.coverage.reasons = std::move(reasons);
  view.run_coverage = view.coverage;
  return view;
}

TEST(TrustTest, AttributionIsNeverRoundedUpToAll) {
  Coverage coverage;
  coverage.device_ns = 1'000'000'000;
  EXPECT_EQ(AttributedPercent(coverage), "100");
  coverage.none_ns = 1;
  EXPECT_EQ(AttributedPercent(coverage), "99.9");
  coverage.none_ns = 200'000'000;
  EXPECT_EQ(AttributedPercent(coverage), "80.0");
}

TEST(TrustTest, AttributionShowsStepsAndADifferentRecordingShare) {
  RunView view = Clean();
  const auto words = [&] { return AttributedWords(view).text + AttributedWords(view).of; };
  EXPECT_GOLDEN_TEXT(words());  // 100 %.
  EXPECT_FALSE(AttributedWords(view).low);
  view.run_coverage.device_ns = 200;
  view.run_coverage.none_ns = 100;
  EXPECT_THAT(AttributedWords(view).of, HasSubstr("50.0%"));
  EXPECT_GOLDEN_TEXT(words());
  view.basis.steady = false;
  EXPECT_EQ(AttributedWords(view).of, "");
  view.coverage.exact_ns = 94;
  view.coverage.none_ns = 6;
  EXPECT_TRUE(AttributedWords(view).low);
  EXPECT_EQ(AttributedWords(RunView()).text, "");
}

// A user without XLA cannot act on "attributed 0 %".
TEST(TrustTest, IfNoKernelIsFromXlaNothingCountsAsMissing) {
  const RunView foreign = Without({{"not_xla", 90, 11}, {"transfer", 10, 1}});
  const Attributed words = AttributedWords(foreign);
  EXPECT_TRUE(words.foreign);
  EXPECT_EQ(words.tone(), "plain");
  EXPECT_GOLDEN_TEXT(words.text + words.of + "\n" + TrustText(foreign));
  // A dump would complete this run.
  const RunView mendable = Without({{"not_xla", 50, 6}, {"no_module", 50, 6}});
  EXPECT_FALSE(AttributedWords(mendable).foreign);
  EXPECT_EQ(AttributedWords(mendable).tone(), "warn");
  EXPECT_GOLDEN_TEXT(AttributedWords(mendable).text + "\n" + TrustText(mendable));
}

TEST(TrustTest, MostSeriousReasonToDoubtComesFirst) {
  RunView view = Clean();
  EXPECT_GOLDEN_TEXT(TrustText(view));
  view.steps.steady_count = 1;
  view.errors = 2;
  EXPECT_GOLDEN_TEXT(TrustText(view));  // 1 step, 2 errors.
  view.basis.steady = false;
  EXPECT_GOLDEN_TEXT(TrustText(view));  // No steady step.
  EndFigure end;
  end.ended = "signal";
  end.signal = 9;
  end.from_ns = 5;
  view.losses.ends = {end};
  EXPECT_THAT(TrustText(view), HasSubstr(view.losses.Text()));
  EXPECT_THAT(TrustText(view), HasSubstr(view.losses.Sentences().at(0)));
  EXPECT_GOLDEN_TEXT(TrustText(view));
  view.lost = view.losses.lost = 1;
  EXPECT_GOLDEN_TEXT(TrustText(view));  // 1 record.
  EXPECT_GOLDEN_TEXT(TrustText(RunView()));
}

}  // namespace
}  // namespace xlatrace::report
