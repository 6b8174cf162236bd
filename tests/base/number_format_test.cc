#include "base/number_format.h"

#include <gtest/gtest.h>

namespace xlatrace {
namespace {

TEST(NumberFormatTest, ThreeSignificantDigits) {
  EXPECT_EQ(Significant(63.04), "63.0");
  EXPECT_EQ(Significant(9.449), "9.45");
  EXPECT_EQ(Significant(0.2691), "0.269");
  EXPECT_EQ(Significant(50849), "50,800");
  EXPECT_EQ(Significant(1234567), "1,230,000");
  EXPECT_EQ(Significant(0.031), "0.031");
}

TEST(NumberFormatTest, RoundingNeverGivesAnExtraDigit) {
  EXPECT_EQ(Significant(0.99951), "1.00");
  EXPECT_EQ(Significant(9.9951), "10.0");
  EXPECT_EQ(Significant(99.951), "100");
  EXPECT_EQ(Significant(999.51), "1,000");
}

TEST(NumberFormatTest, SmallIsNotZero) {
  EXPECT_EQ(Significant(0), "0");
  EXPECT_EQ(Significant(0.0001), "<0.001");
  EXPECT_EQ(Percent(1, 1000000), "<0.1");
  EXPECT_EQ(Percent(0, 5), "0");
  EXPECT_EQ(Percent(0, 0), "");
  EXPECT_EQ(Percent(408, 1000), "40.8");
  EXPECT_EQ(Percent(5, 5), "100");
}

TEST(NumberFormatTest, DurationsTakeTheUnitThatSuits) {
  EXPECT_EQ(Duration(12), "12 ns");
  EXPECT_EQ(Duration(410e3), "410 us");
  EXPECT_EQ(Duration(63.0e6), "63.0 ms");
  EXPECT_EQ(Duration(1.2e9), "1.20 s");
  EXPECT_EQ(Duration(125e9), "2 min 05 s");
}

TEST(NumberFormatTest, ThousandsAndBytes) {
  EXPECT_EQ(Thousands(1203441), "1,203,441");
  EXPECT_EQ(Thousands(-1203), "-1,203");
  EXPECT_EQ(Thousands(999), "999");
  EXPECT_EQ(Bytes(512), "512 B");
  EXPECT_EQ(Bytes(103e6), "103 MB");
  EXPECT_EQ(Bytes(1.5e9), "1.50 GB");
}

}  // namespace
}  // namespace xlatrace
