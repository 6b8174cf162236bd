// SPDX-License-Identifier: Apache-2.0
#include "compare/statistics.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace xlatrace::compare {
namespace {

TEST(MiddleHalf, MiddleHalfOmitsAQuarterAtEachEnd) {
  const std::vector<double> values = {9, 1, 2, 100, 3, 4, 5, 6};
  EXPECT_EQ(MiddleHalf(values), (std::vector<double>{3, 4, 5, 6}));
  EXPECT_DOUBLE_EQ(Scatter(values), 3 / 4.5);
  EXPECT_EQ(MiddleHalf(std::vector<double>{3, 1, 2}), (std::vector<double>{3, 1, 2}));
  EXPECT_EQ(Scatter(std::vector<double>{3, 1, 2}), 0);
}

TEST(RankSum, RankSumIsExactForFewValues) {
  // All of one side above the other: 2 of the C(8,4) = 70 orders, 2 of C(6,3) = 20.
  EXPECT_NEAR(RankSumProbability(std::vector<double>{1, 2, 3, 4}, std::vector<double>{5, 6, 7, 8}),
              2.0 / 70, 1e-12);
  EXPECT_NEAR(RankSumProbability(std::vector<double>{4, 5, 6}, std::vector<double>{1, 2, 3}),
              2.0 / 20, 1e-12);
  // One swap: U is 1 away from the end, 2 orders of each end count.
  EXPECT_NEAR(RankSumProbability(std::vector<double>{1, 2, 4}, std::vector<double>{3, 5, 6}),
              4.0 / 20, 1e-12);
  EXPECT_NEAR(RankSumProbability(std::vector<double>{1, 2}, std::vector<double>{1, 2}), 1, 1e-12);
}

TEST(RankSum, TiesCountHalfForEachSide) {
  const std::vector<double> ones(4, 1.0);
  EXPECT_NEAR(RankSumProbability(ones, ones), 1, 1e-12);
}

TEST(Median, MedianOfAnEvenNumberIsTheMiddleMean) {
  EXPECT_EQ(Median(std::vector<double>{10, 1, 3, 2}), 2.5);
  EXPECT_EQ(Median(std::vector<double>{10, 1, 3}), 3);
}

TEST(RankSum, RankSumWithoutValuesIsOne) {
  EXPECT_EQ(RankSumProbability({}, std::vector<double>{1, 2}), 1);
}

TEST(Bootstrap, IntervalCoversTheTruthAtItsStatedRate) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> run(0, 0.05), step(0, 0.01);
  int held = 0;
  constexpr int kTrials = 60;
  for (int trial = 0; trial < kTrials; ++trial) {
    const auto side = [&](double mean) {
      std::vector<std::vector<double>> runs;
      for (int r = 0; r < 5; ++r) {
        const double level = mean * (1 + run(random));
        std::vector<double>& steps = runs.emplace_back();
        for (int s = 0; s < 10; ++s) steps.push_back(level * (1 + step(random)));
      }
      return runs;
    };
    const auto interval = BootstrapRatio(side(100), side(110));
    ASSERT_TRUE(interval);
    held += interval->low <= 0.10 && interval->high >= 0.10;
  }
  EXPECT_GE(held, kTrials * 85 / 100);
}

// With two or three runs per side the interval is wide. Normal quantiles of the spread of two runs
// would miss the truth in every third trial.
TEST(Bootstrap, FewRunsHaveWideIntervals) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> run(0, 0.05);
  for (const int runs : {2, 3}) {
    int held = 0;
    constexpr int kTrials = 200;
    for (int trial = 0; trial < kTrials; ++trial) {
      const auto side = [&](double mean) {
        std::vector<std::vector<double>> all;
        for (int r = 0; r < runs; ++r) all.push_back({mean * (1 + run(random))});
        return all;
      };
      const auto interval = BootstrapRatio(side(100), side(110));
      ASSERT_TRUE(interval);
      held += interval->low <= 0.10 && interval->high >= 0.10;
    }
    EXPECT_GE(held, kTrials * 85 / 100) << runs;
  }
}

TEST(Bootstrap, BootstrapNeedsTwoRunsPerSide) {
  EXPECT_FALSE(BootstrapRatio({{1, 2}}, {{1, 2}, {1, 2}}));
}

TEST(Prediction, PredictionFollowsStudentsDistribution) {
  // Logarithms -2, -1, 0, 1, 2: mean 0, variance 2.5. t(4) at 99 % two-sided is 4.604 (any table).
  std::vector<double> values;
  for (const double log : {-2.0, -1.0, 0.0, 1.0, 2.0}) values.push_back(std::exp(log));
  const auto interval = PredictionInterval(values, 0.99);
  ASSERT_TRUE(interval);
  const double half = 4.604 * std::sqrt(2.5 * 1.2);
  EXPECT_NEAR(std::log(interval->high), half, 2e-3);
  EXPECT_NEAR(std::log(interval->low), -half, 2e-3);
  EXPECT_NEAR(ChanceOfMore(values, interval->high), 0.005, 1e-6);
  EXPECT_NEAR(ChanceOfMore(values, 1), 0.5, 1e-9);
}

TEST(Prediction, PredictionNeedsFiveValues) {
  const std::vector<double> four = {1, 2, 3, 4};
  EXPECT_FALSE(PredictionInterval(four));
  EXPECT_EQ(ChanceOfMore(four, 1e9), 1);
}

TEST(Discoveries, DiscoveriesEqualBenjaminiAndHochberg) {
  // Their paper's rule at 5 %: limits 0.0125, 0.025, 0.0375, 0.05.
  EXPECT_EQ(Discoveries(std::vector<double>{0.03, 0.01, 0.9, 0.02}, 0.05),
            (std::vector<bool>{true, true, false, true}));
  // The smallest is above its own limit; a larger one below its limit takes it along.
  EXPECT_EQ(Discoveries(std::vector<double>{0.024, 0.9, 0.02, 0.03}, 0.05),
            (std::vector<bool>{true, false, true, true}));
  EXPECT_EQ(Discoveries(std::vector<double>{0.2, 0.3}, 0.05), (std::vector<bool>{false, false}));
}

TEST(ChangePoint, ChangePointIsWhereTheLevelMoves) {
  std::vector<double> values;
  for (int i = 0; i < 30; ++i) values.push_back((i < 18 ? 100 : 106) + i % 3);
  const auto change = FindChangePoint(values);
  ASSERT_TRUE(change);
  EXPECT_EQ(change->first, 18u);
  EXPECT_EQ(change->before, 101);
  EXPECT_EQ(change->after, 107);
}

TEST(ChangePoint, NoiseAndShortSeriesHaveNoChangePoint) {
  std::vector<double> values;
  for (int i = 0; i < 40; ++i) values.push_back(100 + (i * 7) % 11);
  EXPECT_FALSE(FindChangePoint(values));
  EXPECT_FALSE(FindChangePoint(std::vector<double>{1, 1, 1, 9, 9, 9}));
}

TEST(ChangePoint, ChangePointNeedsTwentyValues) {
  std::vector<double> values(9, 100.0);
  values.resize(19, 200.0);
  EXPECT_FALSE(FindChangePoint(values));
  values.push_back(200.0);
  const auto change = FindChangePoint(values);
  ASSERT_TRUE(change);
  EXPECT_EQ(change->first, 9u);
}

TEST(Sparkline, SparklineRisesFromLowToHigh) {
  EXPECT_EQ(Sparkline(std::vector<double>{1, 2, 3}, true), "_=#");
  EXPECT_EQ(Sparkline({}, true), "");
}

}  // namespace
}  // namespace xlatrace::compare
