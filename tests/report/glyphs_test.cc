// SPDX-License-Identifier: Apache-2.0
#include "report/glyphs.h"

#include <gtest/gtest.h>

namespace xlatrace::report {
namespace {

TEST(GlyphsTest, UnitsSignsAndArrowsOfSentences) {
  EXPECT_EQ(WithGlyphs("410 us"), "410 µs");
  EXPECT_EQ(WithGlyphs("3 gaps of 12.5 us, longest 40 us."), "3 gaps of 12.5 µs, longest 40 µs.");
  EXPECT_EQ(WithGlyphs("4 x 8 tiles, 2.5x as long"), "4 × 8 tiles, 2.5× as long");
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
