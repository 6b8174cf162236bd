// SPDX-License-Identifier: Apache-2.0
#include "hlo/cost/weights.h"

#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "hlo/text/text_reader.h"
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
  tanh = f32[64,32]{1,0} tanh(a)
  everywhere = f32[64,32]{1,0} broadcast(zero), dimensions={}
  shifted = f32[64,32]{1,0} add(a, everywhere)
  narrow = bf16[64,32]{1,0} parameter(2)
  half = bf16[64,32]{1,0} negate(narrow)
  n = s32[64,32]{1,0} parameter(3)
  rest = s32[64,32]{1,0} remainder(n, n)
  ROOT t = (f32[64,32]{1,0}, f32[64]{0}) tuple(negate, sum)
}
ENTRY e {
  a = f32[64,32]{1,0} parameter(0)
  b = f32[32,16]{1,0} parameter(1)
  narrow = bf16[64,32]{1,0} parameter(2)
  n = s32[64,32]{1,0} parameter(3)
  ROOT f = (f32[64,32]{1,0}, f32[64]{0}) fusion(a, b, narrow, n), kind=kInput, calls=fused
}
)";

class WeightsTest : public ::testing::Test {
 protected:
  WeightsTest() : module_(*ReadText(Shared(kModule))) {}
  double Of(std::string_view name, model::DeviceKind device = model::DeviceKind::kGpu) {
    return Weight(module_, Find(module_, name), device);
  }
  model::HloModule module_;
};

TEST_F(WeightsTest, InstructionsWithoutWorkHaveWeightZero) {
  for (const char* name : {"a", "zero", "cast", "t"}) EXPECT_EQ(Of(name), 0) << name;
}

// 64 x 32 elements of four bytes are 8,192 bytes.
TEST_F(WeightsTest, CheapOpsWeighTheBytesTheyMove) {
  EXPECT_DOUBLE_EQ(Of("sum") / Of("negate"), (8192 + 4 + 256) / (2 * 8192.0));
  EXPECT_DOUBLE_EQ(Of("half") / Of("negate"), 0.5);
  EXPECT_DOUBLE_EQ(Of("negate", model::DeviceKind::kCpu), 2 * 8192 / 40.0);  // 40 GB/s.
}

TEST_F(WeightsTest, ABroadcastIsNeitherWrittenNorRead) {
  EXPECT_LT(Of("everywhere"), 0.05 * Of("negate"));
  EXPECT_DOUBLE_EQ(Of("shifted") / Of("negate"), (2 * 8192 + 4) / (2 * 8192.0));
}

// An H100 does 66.9 cycles of work per picosecond and moves 3.35 bytes in it. The 79 cycles of an
// exponential are hidden behind 8 bytes; the 467 cycles of a tanh are not.
TEST_F(WeightsTest, CostlyOpsWeighTheirComputeTime) {
  EXPECT_DOUBLE_EQ(Of("exp"), Of("negate"));
  EXPECT_NEAR(Of("tanh") / Of("negate"), (467 / 66.9) / (8 / 3.35), 0.01);
  EXPECT_GT(Of("rest"), Of("negate"));
}

TEST_F(WeightsTest, WeightsDifferByProcessor) {
  const auto cpu = model::DeviceKind::kCpu;
  EXPECT_NEAR(Of("exp", cpu) / Of("negate", cpu), 0.47 / (8 / 40.0), 0.01);
  EXPECT_LT(Of("tanh", cpu) / Of("exp", cpu), 1.2);  // Both are short polynomials there.
}

TEST_F(WeightsTest, ADotGrowsWithTheContractedDimension) {
  const auto product = [](int contracted) {
    const auto module = ReadText(
        Shared(fmt::format("HloModule m\nENTRY e {{\n a = f32[1024,{0}] parameter(0)\n b = "
                           "f32[{0},1024] parameter(1)\n"
                           " ROOT d = f32[1024,1024] dot(a, b), lhs_contracting_dims={{1}}, "
                           "rhs_contracting_dims={{0}}\n}}",
                           contracted)));
    return Weight(*module, Find(*module, "d"));
  };
  EXPECT_DOUBLE_EQ(product(4096) / product(2048), 2.0);
}

TEST_F(WeightsTest, FusionWeighsItsInnerOps) {
  double sum = 0;
  for (const char* name :
       {"negate", "exp", "sum", "dot", "tanh", "everywhere", "shifted", "half", "rest"}) {
    sum += Of(name);
  }
  EXPECT_DOUBLE_EQ(Of("f"), sum);
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
