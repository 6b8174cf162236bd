// SPDX-License-Identifier: Apache-2.0
#include "model/windows.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace xlatrace::model {
namespace {

Window Of(int64_t process, int64_t start, int64_t end, WindowEnd why = WindowEnd::kEnd) {
  return {process, start, end, why};
}
Loss At(int64_t process, int64_t start, int64_t end) {
  return {.process_id = process, .start_ns = start, .end_ns = end, .cause = "dropped"};
}

TEST(CutByLosses, LossDividesAWindow) {
  EXPECT_EQ(
      CutByLosses({Of(1, 0, 100, WindowEnd::kRequested)}, {At(1, 40, 50)}),
      (std::vector<Window>{Of(1, 0, 40, WindowEnd::kLoss), Of(1, 50, 100, WindowEnd::kRequested)}));
}

TEST(CutByLosses, InstantaneousLossDividesAWindow) {
  EXPECT_EQ(CutByLosses({Of(1, 0, 100)}, {At(1, 40, 40)}),
            (std::vector<Window>{Of(1, 0, 40, WindowEnd::kLoss), Of(1, 40, 100)}));
}

TEST(CutByLosses, LossesThatOverlapAreOneHole) {
  EXPECT_EQ(CutByLosses({Of(1, 0, 100)}, {At(1, 20, 60), At(1, 30, 40), At(1, 50, 70)}),
            (std::vector<Window>{Of(1, 0, 20, WindowEnd::kLoss), Of(1, 70, 100)}));
}

TEST(CutByLosses, LossAtTheEndIsTheReasonOfTheEnd) {
  EXPECT_EQ(CutByLosses({Of(1, 0, 100)}, {At(1, 90, 300)}),
            (std::vector<Window>{Of(1, 0, 90, WindowEnd::kLoss)}));
}

TEST(CutByLosses, LossAffectsOnlyItsProcess) {
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

TEST(CutByLosses, ProcessWithoutWholeWindowIsNotWhole) {
  const auto windows = CutByLosses({Of(1, 0, 100)}, {At(1, -10, 200)});
  EXPECT_EQ(windows, (std::vector<Window>{Of(1, 0, 0, WindowEnd::kLoss)}));
  EXPECT_FALSE(Recorded(windows).Whole(1, 10, 20));
}

// Windows and losses of several processes at random, against each interval looked at by itself.
class RandomLosses : public testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Seeds, RandomLosses, testing::Range(0, 60));

TEST_P(RandomLosses, IntervalIsWholeIfOneWindowHoldsItWithoutLoss) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  const auto below = [&](int64_t most) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(most));
  };
  constexpr int64_t kEnd = 60;
  std::vector<Window> windows;
  std::vector<Loss> losses;
  for (int64_t process = 1; process <= 3; ++process) {
    for (int64_t start = below(10); start < kEnd; start += 1 + below(15)) {
      const int64_t end = std::min(kEnd, start + 1 + below(40));
      windows.push_back(Of(process, start, end, WindowEnd::kRequested));
      start = end;
    }
    for (int64_t k = below(5); k > 0; --k) {
      const int64_t start = below(kEnd);
      losses.push_back(At(process, start, start + below(20)));
    }
  }
  std::shuffle(windows.begin(), windows.end(), random);
  std::shuffle(losses.begin(), losses.end(), random);
  const Recorded recorded(CutByLosses(windows, losses));
  for (int64_t process = 1; process <= 3; ++process) {
    for (int64_t start = 0; start < kEnd; ++start) {
      for (int64_t end = start + 1; end <= kEnd; ++end) {
        const bool in_window = std::any_of(windows.begin(), windows.end(), [&](const Window& of) {
          return of.process_id == process && of.start_ns <= start && end <= of.end_ns;
        });
        // A loss without length interrupts only what spans it.
        const bool has_loss = std::any_of(losses.begin(), losses.end(), [&](const Loss& of) {
          return of.process_id == process && of.start_ns < end && start < of.end_ns;
        });
        const bool is_cut = std::any_of(losses.begin(), losses.end(), [&](const Loss& of) {
          return of.process_id == process && start < of.start_ns && of.start_ns < end;
        });
        EXPECT_EQ(recorded.Whole(process, start, end), in_window && !has_loss && !is_cut)
            << process << " " << start << " " << end;
      }
    }
  }
}

TEST(Recorded, IntervalAcrossAWindowEndIsNotWhole) {
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

TEST(Recorded, ProcessWithoutWindowsIsWhole) {
  const Recorded recorded({Of(1, 0, 40)});
  EXPECT_TRUE(recorded.Whole(2, 0, 1000));
  EXPECT_TRUE(recorded.Whole(-1, 0, 1000));
}

}  // namespace
}  // namespace xlatrace::model
