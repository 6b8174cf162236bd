// SPDX-License-Identifier: Apache-2.0
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

TEST(StepAgreement, AnUnevenHostHasNoWarmUpByItself) {
  // Lengths of twelve like steps on a machine that others use: only the first is another matter.
  EXPECT_EQ(
      WarmUpCount(std::vector<int64_t>{16811, 555, 645, 395, 475, 439, 429, 432, 443, 541, 343},
                  kWarmUpLengthPct),
      1u);
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

TEST(StepAgreement, OfTimeOnABusyCpuTheMiddleHalfHasToAgree) {
  std::vector<int64_t> values(12, 100);
  values[2] = values[5] = values[9] = 400;
  EXPECT_TRUE(Agree(values, Clock::kPreempted));
  EXPECT_FALSE(Agree(values, Clock::kDevice));
  values[10] = 160;
  EXPECT_FALSE(Agree(values, Clock::kPreempted));
  // Where nearly all are preempted, the undisturbed ones are few and short.
  values = std::vector<int64_t>(12, 100);
  values[3] = values[4] = values[8] = 60;
  EXPECT_TRUE(Agree(values, Clock::kPreempted));
  values[10] = 60;
  EXPECT_FALSE(Agree(values, Clock::kPreempted));
}

TEST(StepAgreement, LengthsAskForATenth) {
  const std::vector<int64_t> lengths = {118, 107, 100, 101, 99, 100};
  EXPECT_EQ(WarmUpCount(lengths), 2u);
  EXPECT_EQ(WarmUpCount(lengths, kWarmUpLengthPct), 1u);
}

}  // namespace
}  // namespace xlatrace::analysis
