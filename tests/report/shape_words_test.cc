// SPDX-License-Identifier: Apache-2.0
#include "report/show/shape_words.h"

#include <string>

#include <gtest/gtest.h>

namespace xlatrace::report {
namespace {

TEST(ShortShape, ShortShapeIsUnchanged) {
  for (const char* shape : {"f32[8,4]{1,0}", "(f32[2]{0}, s32[])", "()", "", "token[]",
                            "((f32[2]{0:T(8,128)}), u32[])"}) {
    EXPECT_EQ(ShortShape(shape), shape);
  }
}

TEST(ShortShape, LongTuplesAreCountedByShape) {
  std::string shape = "(f32[2]{0}";
  for (int i = 0; i < 7; ++i) shape += ", bf16[192,3072]{1,0}";
  EXPECT_EQ(ShortShape(shape + ")"), shape + ")");  // Eight are written.
  EXPECT_EQ(ShortShape(shape + ", f32[2]{0})"),
            "tuple of 9: 2 x f32[2]{0}, 7 x bf16[192,3072]{1,0}");
}

TEST(ShortShape, SixOfManyShapesAreNamed) {
  std::string shape = "(s8[0]";
  for (int i = 1; i < 8; ++i) shape += ", s8[" + std::to_string(i) + "]";
  EXPECT_EQ(ShortShape(shape + ", s8[8], s8[9])"),
            "tuple of 10: s8[0], s8[1], s8[2], s8[3], s8[4], s8[5] and 4 other shapes");
}

TEST(ShortShape, NestedTuplesAreShortened) {
  std::string inner = "(f32[]";
  for (int i = 0; i < 9; ++i) inner += ", f32[]";
  EXPECT_EQ(ShortShape("(" + inner + "), f32[3]{0})"), "((tuple of 10: 10 x f32[]), f32[3]{0})");
}

TEST(ShortShape, ShapeWithBrokenBracketsIsUnchanged) {
  for (const char* shape : {"(f32[2", "(f32[2]{0}", "f32[2])", "(a))(", "(a, b]), c)"}) {
    EXPECT_EQ(ShortShape(shape), shape);
  }
  const std::string deep = std::string(5000, '(') + std::string(5000, ')');
  EXPECT_EQ(ShortShape(deep), deep);
}

}  // namespace
}  // namespace xlatrace::report
