// SPDX-License-Identifier: Apache-2.0
#include "analysis/apportion.h"

#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace xlatrace::analysis {
namespace {

std::vector<int64_t> Parts(int64_t total, std::vector<int64_t> weights) {
  std::vector<int64_t> parts(weights.size());
  Apportion(total, weights, parts);
  return parts;
}

TEST(Apportion, ExactSharesStayExact) {
  EXPECT_EQ(Parts(100, {500'000, 300'000, 200'000}), (std::vector<int64_t>{50, 30, 20}));
}

TEST(Apportion, RestGoesToTheLargestRemainders) {
  // 10/3 each is 3.33: the one that is left goes to the first of equals.
  EXPECT_EQ(Parts(10, {1, 1, 1}), (std::vector<int64_t>{4, 3, 3}));
  // 7 * {0.5, 0.3, 0.2} = 3.5, 2.1, 1.4: remainders .5 > .4 > .1.
  EXPECT_EQ(Parts(7, {5, 3, 2}), (std::vector<int64_t>{4, 2, 1}));
}

TEST(Apportion, WithoutWeightsTheFirstGetsAll) {
  EXPECT_EQ(Parts(9, {0, 0}), (std::vector<int64_t>{9, 0}));
  EXPECT_EQ(Parts(9, {7}), (std::vector<int64_t>{9}));
}

TEST(Apportion, LargeProductsDoNotOverflow) {
  const int64_t hour_in_millionths = int64_t{3'600'000'000'000} * 1'000'000;
  EXPECT_EQ(Parts(hour_in_millionths, {1, 1}),
            (std::vector<int64_t>{hour_in_millionths / 2, hour_in_millionths / 2}));
}

TEST(Apportion, PartsSumToTheTotalWithinOneOfExact) {
  std::mt19937 random(7);
  for (int round = 0; round < 10'000; ++round) {
    std::vector<int64_t> weights(1 + random() % (round % 10 == 0 ? 99 : 9));
    for (int64_t& weight : weights) weight = static_cast<int64_t>(random() % 1000);
    const auto total = static_cast<int64_t>(random() % 100'000);
    const std::vector<int64_t> parts = Parts(total, weights);
    const int64_t sum = std::accumulate(weights.begin(), weights.end(), int64_t{0});
    ASSERT_EQ(std::accumulate(parts.begin(), parts.end(), int64_t{0}), total);
    for (size_t i = 0; sum > 0 && i < parts.size(); ++i) {
      // |part * sum - total * weight| < sum: less than one away from the exact value.
      ASSERT_LT(std::abs(parts[i] * sum - total * weights[i]), sum);
    }
  }
}

}  // namespace
}  // namespace xlatrace::analysis
