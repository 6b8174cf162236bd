#include "analysis/step_agreement.h"

#include <vector>

#include <gtest/gtest.h>

namespace xlatrace::analysis {
namespace {

TEST(StepAgreement, WarmUpIsWhatTakesFivePercentMoreThanTheLaterOnes) {
  EXPECT_EQ(WarmUpCount(std::vector<int64_t>{148, 143, 127, 127, 127}), 2u);
  EXPECT_EQ(WarmUpCount(std::vector<int64_t>{1466, 1310, 1312, 1308}), 1u);
  EXPECT_EQ(WarmUpCount(std::vector<int64_t>{104, 100, 100, 100, 100}), 0u);
}

TEST(StepAgreement, NoiseIsNoWarmUp) {
  // The first is 8 % above the median, and others are as much above it.
  EXPECT_EQ(WarmUpCount(std::vector<int64_t>{108, 100, 110, 95, 100, 109, 100, 96, 100}), 0u);
}

TEST(StepAgreement, WhatFallsAllTheWayIsNoWarmUp) {
  EXPECT_LE(WarmUpCount(std::vector<int64_t>{100, 80, 64, 51, 41, 33}), 3u);
  EXPECT_EQ(WarmUpCount(std::vector<int64_t>{200, 100}), 0u);
  EXPECT_EQ(WarmUpCount(std::vector<int64_t>{}), 0u);
}

TEST(StepAgreement, TheLargestMayTakeOneAndAHalfTimesTheLeast) {
  EXPECT_TRUE(Agree(std::vector<int64_t>{100, 150, 120}));
  EXPECT_FALSE(Agree(std::vector<int64_t>{100, 151, 120}));
  EXPECT_FALSE(Agree(std::vector<int64_t>{}));
}

TEST(StepAgreement, OneInTwentyMayStickOut) {
  std::vector<int64_t> values(20, 100);
  values[7] = 900;
  EXPECT_TRUE(Agree(values));
  values[8] = 900;
  EXPECT_FALSE(Agree(values));
}

}  // namespace
}  // namespace xlatrace::analysis
