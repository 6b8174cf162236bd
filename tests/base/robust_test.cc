// SPDX-License-Identifier: Apache-2.0
#include "base/robust.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace xlatrace {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

TEST(Robust, MedianOfAnEvenNumberIsTheLowerMiddle) {
  EXPECT_EQ(LowerMedian({4, 1, 3, 2}), 2);
  EXPECT_EQ(LowerMedian({5, 1, 3}), 3);
  EXPECT_EQ(LowerMedian({}), 0);
}

TEST(Robust, OutlierDoesNotMoveTheSpread) {
  EXPECT_DOUBLE_EQ(Spread({10, 11, 9, 10, 1000}), 1.4826);
  EXPECT_EQ(Spread({7}), 0);
}

TEST(Robust, RiseIsFoundBetweenTwoLevels) {
  EXPECT_EQ(RiseOf({0, 1, 0, 1, 9, 10, 9, 10}), 4u);
  EXPECT_EQ(RiseOf({9, 10, 9, 10, 9, 10}), 0u) << "high all along";
  EXPECT_EQ(RiseOf({9, 10, 9, 0, 1, 0}), 0u) << "a fall is none";
  EXPECT_EQ(RiseOf({0, 9, 9, 9, 9}), 2u) << "two values lie before it";
  EXPECT_EQ(RiseOf({0, kNone, 0, 1, 9, kNone, 9, 10}), 4u);
  EXPECT_EQ(RiseOf({1, 2}), 0u);
}

// A run has a hundred thousand steps: of each split a pass over all of them would take minutes.
TEST(Robust, ARiseOfManyValuesIsFoundInOnePass) {
  std::vector<double> values(1'000'000, 0);
  for (size_t i = 700'000; i < values.size(); ++i) values[i] = 5;
  EXPECT_EQ(RiseOf(values), 700'000u);
}

}  // namespace
}  // namespace xlatrace
