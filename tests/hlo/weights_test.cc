#include "hlo/weights.h"

#include <cmath>

#include <gtest/gtest.h>

#include "hlo/text_reader.h"
#include "tests/hlo/test_data.h"

namespace xlatrace::hlo {
namespace {

constexpr char kModule[] = R"(HloModule m
add { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT z = f32[] add(x, y) }
fused {
  a = f32[64,32]{1,0} parameter(0)
  b = f32[32,16]{1,0} parameter(1)
  zero = f32[] constant(0)
  cast = f32[64,32]{1,0} bitcast(a)
  negate = f32[64,32]{1,0} negate(cast)
  exp = f32[64,32]{1,0} exponential(a)
  sum = f32[64]{0} reduce(a, zero), dimensions={1}, to_apply=add
  dot = f32[64,16]{1,0} dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = (f32[64,32]{1,0}, f32[64]{0}) tuple(negate, sum)
}
ENTRY e {
  a = f32[64,32]{1,0} parameter(0)
  b = f32[32,16]{1,0} parameter(1)
  ROOT f = (f32[64,32]{1,0}, f32[64]{0}) fusion(a, b), kind=kInput, calls=fused
}
)";

class WeightsTest : public ::testing::Test {
 protected:
  WeightsTest() : module_(*ReadText(Shared(kModule))) {}
  double Of(std::string_view name) { return Weight(module_, Find(module_, name)); }
  model::HloModule module_;
};

TEST_F(WeightsTest, WhatDoesNoWorkWeighsNothing) {
  for (const char* name : {"a", "zero", "cast", "t"}) EXPECT_EQ(Of(name), 0) << name;
}

TEST_F(WeightsTest, AReductionWeighsItsInputNotItsResult) {
  EXPECT_DOUBLE_EQ(Of("sum") / Of("negate"), 1.0);  // Both look at 64 x 32 elements.
}

TEST_F(WeightsTest, TranscendentalsWeighEightTimes) {
  EXPECT_DOUBLE_EQ(Of("exp") / Of("negate"), 8.0);
}

TEST_F(WeightsTest, ADotGrowsWithTheContractedDimension) {
  // 2 x 64 x 16 x 32 operations against 64 x 32, a sixteenth each on matrix units.
  EXPECT_DOUBLE_EQ(Of("dot") / Of("negate"), 2.0);
}

TEST_F(WeightsTest, AFusionWeighsWhatIsInside) {
  EXPECT_DOUBLE_EQ(Of("f"), Of("negate") + Of("exp") + Of("sum") + Of("dot"));
}

TEST_F(WeightsTest, WeightsAreFinite) {
  auto module = ReadText(
      Shared("HloModule m\nENTRY e {\n a = f32[9999999999,9999999999,9999999999] parameter(0)\n"
             " ROOT d = f32[9999999999,9999999999,9999999999] sort(a)\n}"));
  ASSERT_TRUE(module);
  EXPECT_TRUE(std::isfinite(Weight(*module, module->instructions[1])));
}

}  // namespace
}  // namespace xlatrace::hlo
