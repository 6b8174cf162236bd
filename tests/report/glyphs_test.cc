// SPDX-License-Identifier: Apache-2.0
#include "report/glyphs.h"

#include <gtest/gtest.h>

namespace xlatrace::report {
namespace {

TEST(GlyphsTest, UnitsSignsAndArrowsBecomeUnicode) {
  EXPECT_EQ(WithGlyphs("410 us"), "410 µs");
  EXPECT_EQ(WithGlyphs("alpha 12.5 us, beta 40 us."), "alpha 12.5 µs, beta 40 µs.");
  EXPECT_EQ(WithGlyphs("4 x 8 alpha, 2.5x beta"), "4 × 8 alpha, 2.5× beta");
  EXPECT_EQ(WithGlyphs("114 ms -> 70.9 ms (-38%)"), "114 ms → 70.9 ms (−38%)");
  EXPECT_EQ(WithGlyphs("-3 ms; 0 to -4"), "−3 ms; 0 to −4");
}

TEST(GlyphsTest, NamesAndCodeStayAsTheyAre) {
  for (const char* text :
       {"fusion.2x4", "a us-east host", "3 users", "copy-done.5", "f32[8]->f32[4]", "x 3", "0x7f",
        "`nice -10 a -> b` and `4 x 8`", "2026-05-24", "head-1", ""}) {
    EXPECT_EQ(WithGlyphs(text), text);
  }
  EXPECT_EQ(WithGlyphs("`a -> b` takes 3 us"), "`a -> b` takes 3 µs");
}

}  // namespace
}  // namespace xlatrace::report
