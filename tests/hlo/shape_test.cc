// SPDX-License-Identifier: Apache-2.0
#include "hlo/shape.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xlatrace::hlo {
namespace {

using ::testing::ElementsAre;

TEST(Shape, CountsElementsAndBytes) {
  EXPECT_EQ(ElementCount("f32[2,3]{1,0}"), 6);
  EXPECT_EQ(ByteSize("f32[2,3]{1,0}"), 24);
  EXPECT_EQ(ByteSize("bf16[]"), 2);
  EXPECT_EQ(ByteSize("pred[10]{0}"), 10);
  EXPECT_EQ(ByteSize("c128[2]{0}"), 32);
  EXPECT_EQ(ByteSize("f8e4m3fn[16]{0}"), 16);
  EXPECT_EQ(ByteSize("token[]"), 0);
  EXPECT_EQ(ByteSize("f32[0,7]{1,0}"), 0);
  EXPECT_EQ(ByteSize("f32[<=8,?]"), 32);  // Bounds; an unbounded dimension counts as 1.
}

TEST(Shape, PacksBitsAndRoundsUp) {
  EXPECT_EQ(ByteSize("s4[3]{0}"), 2);
  EXPECT_EQ(ByteSize("u4[3]{0:E(4)}"), 2);
  EXPECT_EQ(ByteSize("f32[3]{0:T(8,128)E(16)S(1)}"), 6);
}

TEST(Shape, TilesAndOtherLayoutItemsAreNotDimensions) {
  const ArrayShape shape =
      FirstLeaf("bf16[256,512]{0,1:T(8,128)(2,1)L(2)#(u32)*(u32)E(16)S(5)M(128)}");
  EXPECT_EQ(shape.type, "bf16");
  EXPECT_THAT(shape.dims, ElementsAre(256, 512));
  EXPECT_THAT(shape.minor_to_major, ElementsAre(0, 1));
  EXPECT_EQ(shape.memory_space, 5);
  EXPECT_EQ(shape.element_bits, 16);
}

TEST(Shape, TupleCountsItsLeaves) {
  const auto leaves = Leaves("((f32[2]{0}, b(s32[3]{0:S(1)})), token[], u8[4]{0})");
  ASSERT_EQ(leaves.size(), 4u);
  EXPECT_EQ(leaves[1].type, "s32");
  EXPECT_EQ(leaves[1].memory_space, 1);
  EXPECT_EQ(ByteSize("((f32[2]{0}, b(s32[3]{0:S(1)})), token[], u8[4]{0})"), 8 + 12 + 0 + 4);
  EXPECT_EQ(ElementCount("()"), 0);
  EXPECT_TRUE(IsTuple("()"));
  EXPECT_FALSE(IsTuple("f32[]"));
}

TEST(Shape, GivesTheTextOfATupleElement) {
  EXPECT_EQ(TupleElement("(f32[2,3]{1,0:T(8,128)}, (s32[], u8[1]), token[])", 0),
            "f32[2,3]{1,0:T(8,128)}");
  EXPECT_EQ(TupleElement("(f32[2,3]{1,0}, (s32[], u8[1]), token[])", 1), "(s32[], u8[1])");
  EXPECT_EQ(TupleElement("(f32[2,3]{1,0}, (s32[], u8[1]), token[])", 2), "token[]");
  EXPECT_EQ(TupleElement("(f32[])", 1), "");
  EXPECT_EQ(TupleElement("f32[2]", 0), "");
}

TEST(Shape, ResultOfAStartIsAnElementOfItsTuple) {
  const char* copy = "(f32[4]{0}, f32[4]{0:S(5)}, u32[]{:S(2)})";
  EXPECT_EQ(ResultShape("copy-start", copy), "f32[4]{0}");
  EXPECT_EQ(ResultShape("all-gather-start", "(f32[4]{0}, f32[16]{0})"), "f32[16]{0}");
  EXPECT_EQ(ResultShape("all-reduce-start", "(f32[4]{0}, f32[8]{0})"), "(f32[4]{0}, f32[8]{0})");
  EXPECT_EQ(ResultShape("fusion", copy), copy);
  EXPECT_EQ(ResultShape("copy-start", "f32[4]{0}"), "f32[4]{0}");
}

TEST(Shape, HugeShapesSaturate) {
  EXPECT_EQ(ByteSize("f64[4611686018427387904,9]"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(ByteSize("f32[99999999999999999999]"), std::numeric_limits<int64_t>::max());
}

TEST(Shape, DamagedTextGivesAnEmptyShape) {
  for (const char* text :
       {"", "(", "f32", "f32[", "f32[2,", "[]", "f32[2]{", "f32[2]{1:S(", "b("}) {
    Leaves(text);
    EXPECT_GE(ByteSize(text), 0) << text;
  }
  EXPECT_EQ(FirstLeaf("f32").type, "");
}

}  // namespace
}  // namespace xlatrace::hlo
