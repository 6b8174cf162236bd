// SPDX-License-Identifier: Apache-2.0
#include "base/share_text.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace xlatrace {
namespace {

TEST(ShareText, ShareOfItsWholeIsAPercentage) {
  EXPECT_EQ(ShareText(40.8, 100), "40.8");
  EXPECT_EQ(ShareText(0, 100), "0");
  EXPECT_EQ(ShareText(100.04, 100), "100");  // Rounded one by one.
  EXPECT_EQ(ShareText(0, 0), "");
}

TEST(ShareText, ImpossibleShareIsADashAndIsCounted) {
  const int64_t before = ImpossibleShares();
  EXPECT_EQ(ShareText(112.6, 100), "-");
  EXPECT_EQ(ShareText(-1, 100), "-");
  EXPECT_EQ(ShareText(std::numeric_limits<double>::quiet_NaN(), 100), "-");
  EXPECT_EQ(ShareText(1, std::numeric_limits<double>::infinity() * 0), "-");
  EXPECT_EQ(ImpossibleShares(), before + 4);
}

}  // namespace
}  // namespace xlatrace
