// SPDX-License-Identifier: Apache-2.0

// A single line of HLO text: its pieces, its operands, and the remainder of a cut line.

#include "hlo/text/hlo_line.h"

#include <cstdint>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xlatrace::hlo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(HloLineTest, OpNameOfAProfileIsSplit) {
  const auto parts = SplitHloLine(
      "%fusion.3 = (bf16[8,128]{1,0:T(8,128)(2,1)S(1)}, f32[]{:T(128)}) fusion(bf16[8]{0} %p.1, "
      "/*index=1*/(s32[], f32[2]) %t.2, all-gather.4#1), kind=kLoop, calls=%fused");
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->name, "fusion.3");
  EXPECT_EQ(parts->shape, "(bf16[8,128]{1,0:T(8,128)(2,1)S(1)}, f32[]{:T(128)})");
  EXPECT_EQ(parts->opcode, "fusion");
  EXPECT_EQ(parts->attributes, ", kind=kLoop, calls=%fused");
  EXPECT_FALSE(parts->cut);
  EXPECT_THAT(OperandsOf(*parts), ElementsAre("p.1", "t.2", "all-gather.4"));
}

TEST(HloLineTest, CutLineKeepsItsWholeOperands) {
  const auto parts = SplitHloLine("a.1 = f32[8]{0} add(f32[8]{0} %b.2, f32[8]{0} %c");
  ASSERT_TRUE(parts);
  EXPECT_TRUE(parts->cut);
  EXPECT_EQ(parts->opcode, "add");
  EXPECT_EQ(parts->attributes, "");
  EXPECT_THAT(OperandsOf(*parts), ElementsAre("b.2"));
  EXPECT_FALSE(SplitHloLine("a.1 = f32[8]{0} ad"));
}

TEST(HloLineTest, LiteralsAndIndicesAreNotOperands) {
  for (const char* line : {"c = s32[2]{0} constant({1, 2})", "p = f32[] parameter(0)",
                           "i = s32[4]{0} iota(), iota_dimension=0"}) {
    const auto parts = SplitHloLine(line);
    ASSERT_TRUE(parts) << line;
    EXPECT_THAT(OperandsOf(*parts), IsEmpty()) << line;
  }
}

TEST(HloLineTest, NamesOperandsAndCalleesAreParsed) {
  HloLine line;
  ASSERT_TRUE(ParseHloLine(
      "ROOT %while.3 = (s32[], /*index=1*/f32[8,4]{1,0:T(8,128)}) while((s32[], f32[8,4]{1,0}) "
      "%tuple.1), condition=%cond.1, body=%body.2, control-predecessors={%a.1, b.2}, "
      "metadata={op_name=\"jit(f)/a,b=\\\"c\\\"\" stack_frame_id=17}, "
      "backend_config={\"known_trip_count\":{\"n\":\"5\"},\"x\":\"calls=no\"}",
      &line));
  EXPECT_EQ(line.name, "while.3");
  EXPECT_EQ(line.opcode, "while");
  EXPECT_EQ(line.shape, "(s32[], /*index=1*/f32[8,4]{1,0:T(8,128)})");
  EXPECT_THAT(line.needs, ElementsAre("tuple.1", "a.1", "b.2"));
  ASSERT_EQ(line.callees.size(), 2u);
  EXPECT_EQ(line.callees[0].name, "cond.1");
  EXPECT_EQ(line.callees[0].role, HloLine::Role::kCondition);
  EXPECT_EQ(line.callees[1].name, "body.2");
  EXPECT_EQ(line.op_name, "jit(f)/a,b=\"c\"");
  EXPECT_EQ(line.stack_frame_id, 17);
}

TEST(HloLineTest, ListsOfCalleesAndElementsOfTuples) {
  HloLine line;
  ASSERT_TRUE(
      ParseHloLine("c.1 = f32[] conditional(p.1, fusion.2#1, fusion.2#0), "
                   "branch_computations={b0, %b1}",
                   &line));
  EXPECT_THAT(line.needs, ElementsAre("p.1", "fusion.2", "fusion.2"));
  ASSERT_EQ(line.callees.size(), 2u);
  EXPECT_EQ(line.callees[1].name, "b1");
  ASSERT_TRUE(ParseHloLine("k = s32[2]{0} constant({1, 2})", &line));
  EXPECT_THAT(line.needs, IsEmpty());
  ASSERT_TRUE(ParseHloLine("p = f32[] parameter(0)", &line));
  EXPECT_THAT(line.needs, IsEmpty());
}

TEST(HloLineTest, TextThatIsNoInstructionIsRejected) {
  HloLine line;
  for (const char* text : {"", "x", "x = ", "x = f32[8", "x = f32[] add(a, b", " = f32[] add()",
                           "Thunk:#hlo_op=a#", "x = f32[]", "x = (f32[] add(a)"}) {
    EXPECT_FALSE(ParseHloLine(text, &line)) << text;
  }
}

TEST(HloLineTest, CutLinesKeepTheirWholeParts) {
  EXPECT_EQ(RepairedHloLine("t = (f32[8], f32[4"), "t = token[] after-all()");
  EXPECT_EQ(RepairedHloLine("t = f32[8] fusion(a, b, c.1"), "t = f32[8] fusion(a, b)");
  EXPECT_EQ(RepairedHloLine("t = f32[8] fusion(a), calls=f, metadata={op_na"),
            "t = f32[8] fusion(a), calls=f");
  EXPECT_EQ(RepairedHloLine("t = f32[8] fusion(a), ca\n[truncated]\n"), "t = f32[8] fusion(a)");
  EXPECT_EQ(RepairedHloLine("only a name"), "");
}

TEST(HloLineTest, FrameNumbersAreReplacedOutsideOfStrings) {
  std::string out;
  AppendWithFrames(
      "a = f32[] add(), metadata={op_name=\"stack_frame_id=4\" stack_frame_id=4}",
      [](int64_t id) { return static_cast<uint32_t>(id * 10); }, &out);
  EXPECT_EQ(out, "a = f32[] add(), metadata={op_name=\"stack_frame_id=4\" stack_frame_id=40}");
}

}  // namespace
}  // namespace xlatrace::hlo
