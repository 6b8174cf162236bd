// SPDX-License-Identifier: Apache-2.0

// What head and Run page say of attribution and of how far a run can be trusted.

#include "report/trust.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xlatrace::report {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

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

TEST(TrustTest, TheHeadSaysHowMuchHasAnInstructionAndOfWhat) {
  RunView view = Clean();
  EXPECT_EQ(AttributedWords(view).text, "attributed 100%");
  EXPECT_EQ(AttributedWords(view).of, " of the steps");
  EXPECT_FALSE(AttributedWords(view).low);
  view.run_coverage.device_ns = 200;
  view.run_coverage.none_ns = 100;
  EXPECT_EQ(AttributedWords(view).of, " of the steps, 50.0% of the recording");
  view.basis.steady = false;
  EXPECT_EQ(AttributedWords(view).of, "");
  view.coverage.exact_ns = 94;
  view.coverage.none_ns = 6;
  EXPECT_TRUE(AttributedWords(view).low);
  EXPECT_EQ(AttributedWords(RunView()).text, "");
}

// To tell somebody who does not use XLA that 0 % is attributed is a reproach for nothing.
TEST(TrustTest, WhereNoKernelIsXlasNoShareIsMissing) {
  const RunView foreign = Without({{"not_xla", 90, 11}, {"transfer", 10, 1}});
  const Attributed words = AttributedWords(foreign);
  EXPECT_TRUE(words.foreign);
  EXPECT_EQ(words.text + words.of, "no kernel is XLA's");
  EXPECT_EQ(words.tone(), "plain");
  EXPECT_EQ(TrustText(foreign),
            "Yes, for one run: nothing was lost, sums equal the device time to the nanosecond. No "
            "kernel is XLA's: names are those of kernels and of what launched them. 12 steady "
            "steps.");
  // A dump would mend this one.
  const RunView mendable = Without({{"not_xla", 50, 6}, {"no_module", 50, 6}});
  EXPECT_EQ(AttributedWords(mendable).text, "attributed 0%");
  EXPECT_EQ(AttributedWords(mendable).tone(), "warn");
  EXPECT_THAT(TrustText(mendable), StartsWith("In part: 100% of device time has no instruction. "));
}

TEST(TrustTest, TheFirstReasonToDoubtComesFirst) {
  RunView view = Clean();
  EXPECT_EQ(TrustText(view),
            "Yes, for one run: nothing was lost, 100% of device time in the steps is attributed by "
            "exact evidence, and sums equal the device time to the nanosecond. 12 steady steps.");
  view.steps.steady_count = 1;
  view.errors = 2;
  EXPECT_THAT(TrustText(view), HasSubstr(" Ranges rest on 1 step. 2 errors below."));
  view.basis.steady = false;
  EXPECT_THAT(TrustText(view),
              StartsWith("In part: no step was steady, so figures are sums over the whole run. "
                         "Nothing was lost, 100% of device time is attributed"));
  EndFigure end;
  end.ended = "signal";
  end.signal = 9;
  end.from_ns = 5;
  view.losses.ends = {end};
  EXPECT_THAT(TrustText(view), StartsWith("With care: lost " + view.losses.Text() + ". 100%"));
  EXPECT_THAT(TrustText(view), HasSubstr(" Missing: " + view.losses.Sentences().at(0)));
  view.lost = view.losses.lost = 1;
  EXPECT_THAT(TrustText(view), StartsWith("With care: 1 record was lost, so idle time cannot be "
                                          "told from missing data. 100% of"));
  EXPECT_THAT(TrustText(view), Not(HasSubstr("othing was lost")));
  EXPECT_EQ(TrustText(RunView()), "There is nothing to trust: no device activity.");
}

}  // namespace
}  // namespace xlatrace::report
