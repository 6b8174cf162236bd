// SPDX-License-Identifier: Apache-2.0
#include "model/windows.h"

#include <gtest/gtest.h>

namespace xlatrace::model {
namespace {

Window Of(int64_t process, int64_t start, int64_t end, WindowEnd why = WindowEnd::kEnd) {
  return {process, start, end, why};
}
Loss At(int64_t process, int64_t start, int64_t end) {
  return {.process_id = process, .start_ns = start, .end_ns = end, .cause = "dropped"};
}

TEST(CutByLosses, ALossEndsAWindowAndTheNextBeginsBehindIt) {
  EXPECT_EQ(
      CutByLosses({Of(1, 0, 100, WindowEnd::kAsked)}, {At(1, 40, 50)}),
      (std::vector<Window>{Of(1, 0, 40, WindowEnd::kLoss), Of(1, 50, 100, WindowEnd::kAsked)}));
}

TEST(CutByLosses, AnInstantCutsToo) {
  EXPECT_EQ(CutByLosses({Of(1, 0, 100)}, {At(1, 40, 40)}),
            (std::vector<Window>{Of(1, 0, 40, WindowEnd::kLoss), Of(1, 40, 100)}));
}

TEST(CutByLosses, LossesThatOverlapAreOneHole) {
  EXPECT_EQ(CutByLosses({Of(1, 0, 100)}, {At(1, 20, 60), At(1, 30, 40), At(1, 50, 70)}),
            (std::vector<Window>{Of(1, 0, 20, WindowEnd::kLoss), Of(1, 70, 100)}));
}

TEST(CutByLosses, AtTheEndOfAWindowItIsWhyThatEnded) {
  EXPECT_EQ(CutByLosses({Of(1, 0, 100)}, {At(1, 90, 300)}),
            (std::vector<Window>{Of(1, 0, 90, WindowEnd::kLoss)}));
}

TEST(CutByLosses, OfTheSameProcessOnly) {
  EXPECT_EQ(CutByLosses({Of(2, 0, 100), Of(1, 0, 100)}, {At(1, 0, 30)}),
            (std::vector<Window>{Of(1, 30, 100), Of(2, 0, 100)}));
}

TEST(CutByLosses, OneLossMayLieOverSeveralWindows) {
  EXPECT_EQ(
      CutByLosses({Of(1, 0, 10), Of(1, 20, 30), Of(1, 40, 50)}, {At(1, 5, 45), At(1, 25, 26)}),
      (std::vector<Window>{Of(1, 0, 5, WindowEnd::kLoss), Of(1, 45, 50)}));
}

TEST(CutByLosses, LossInsideALongerLossChangesNothing) {
  EXPECT_EQ(CutByLosses({Of(1, 0, 100)}, {At(1, 10, 60), At(1, 20, 30)}),
            (std::vector<Window>{Of(1, 0, 10, WindowEnd::kLoss), Of(1, 60, 100)}));
}

TEST(CutByLosses, AProcessOfWhichNothingIsWholeIsNotWhole) {
  const auto windows = CutByLosses({Of(1, 0, 100)}, {At(1, -10, 200)});
  EXPECT_EQ(windows, (std::vector<Window>{Of(1, 0, 0, WindowEnd::kLoss)}));
  EXPECT_FALSE(Recorded(windows).Whole(1, 10, 20));
}

TEST(Recorded, NothingSpansTheEndOfAWindow) {
  const Recorded recorded({Of(1, 0, 40, WindowEnd::kLoss), Of(1, 50, 100)});
  EXPECT_TRUE(recorded.Whole(1, 0, 40));
  EXPECT_TRUE(recorded.Whole(1, 50, 60));
  EXPECT_FALSE(recorded.Whole(1, 30, 50));
  EXPECT_FALSE(recorded.Whole(1, 42, 45));
  EXPECT_FALSE(recorded.Whole(1, -5, 10));
  EXPECT_FALSE(recorded.Whole(1, 90, 101));
  EXPECT_EQ(recorded.WindowAt(1, 45), 1u);
  EXPECT_EQ(recorded.WindowAt(1, 50), 2u);
  EXPECT_EQ(recorded.WindowAt(1, -1), 0u);
}

TEST(Recorded, AProcessOfWhichNothingIsKnownIsWhole) {
  const Recorded recorded({Of(1, 0, 40)});
  EXPECT_TRUE(recorded.Whole(2, 0, 1000));
  EXPECT_TRUE(recorded.Whole(-1, 0, 1000));
}

}  // namespace
}  // namespace xlatrace::model
