// SPDX-License-Identifier: Apache-2.0
#include "analysis/other_gpu.h"

#include <gtest/gtest.h>

namespace xlatrace::analysis {
namespace {

DeviceFacts On(std::string_view name) { return FactsOf(*FindGpuByName(name)); }

StoredOp Op(int64_t flops, int64_t bytes, int64_t time_ns, std::string_view type) {
  StoredOp op;
  op.flops = flops;
  op.bytes = bytes;
  op.time_ns = time_ns;
  op.launches = 1;
  op.compute_type = type;
  op.bound_by = "compute";
  return op;
}

TEST(OtherGpu, AComputeBoundOpScalesWithThePeak) {
  const auto estimate =
      EstimateOn(Op(137'438'953'472, 100'663'296, 200'000, "bf16"), On("H100"), On("A100"));
  EXPECT_NEAR(static_cast<double>(*estimate.time_ns), 200'000 * 989.0 / 312, 2);
  EXPECT_EQ(estimate.there.bound, BoundBy::kCompute);
}

TEST(OtherGpu, AMemoryBoundOpScalesWithTheBandwidth) {
  const auto estimate =
      EstimateOn(Op(250'000'000, 1'000'000'000, 400'000, "f32"), On("H100"), On("H200"));
  EXPECT_NEAR(static_cast<double>(*estimate.time_ns), 400'000 * 3352.0 / 4800, 2);
}

TEST(OtherGpu, LimitingRoofMayDifferOnTheOtherGpu) {
  // 60 GFLOP of f32 and 1 GB in 1 ms: on H200 90 % of the f32 peak and 21 % of the bandwidth. The
  // RTX 4090 has more f32 (82.6 TFLOP/s) and much less bandwidth.
  const auto heavy =
      EstimateOn(Op(60'000'000'000, 1'000'000'000, 1'000'000, "f32"), On("H200"), On("RTX 4090"));
  EXPECT_EQ(heavy.there.bound, BoundBy::kMemory);  // 1008 GB/s: 1 GB takes 0.99 ms.
  EXPECT_NEAR(static_cast<double>(*heavy.time_ns), 1e6 * (1.0 / 1.008) / (60.0 / 66.9), 1e3);
}

TEST(OtherGpu, LatencyDoesNotShrinkWithTheRoof) {
  const auto estimate = EstimateOn(Op(1000, 1000, 3'000, "f32"), On("A100"), On("B200"));
  EXPECT_EQ(*estimate.time_ns, 3'000);
}

TEST(OtherGpu, NamedGpuIsUsedIfTheRunHasNone) {
  const auto estimate =
      EstimateOn(Op(137'438'953'472, 100'663'296, 200'000, "bf16"), DeviceFacts(), On("H100"));
  EXPECT_EQ(*estimate.time_ns, 200'000);
  EXPECT_NEAR(*estimate.there.compute, 0.69484, 1e-4);
}

TEST(OtherGpu, CommunicationAndOpsWithoutCostAreNotEstimated) {
  StoredOp op = Op(1, 1, 1000, "f32");
  op.flops.reset();
  EXPECT_FALSE(EstimateOn(op, On("A100"), On("H100")).time_ns);
  op = Op(1000, 1'000'000, 10'000, "f32");
  op.bound_by = "network";
  EXPECT_FALSE(EstimateOn(op, On("A100"), On("H100")).time_ns);
  EXPECT_FALSE(EstimateOn(op, On("A100"), On("H100")).there.wasted_ns);
  EXPECT_FALSE(EstimateOn(op, DeviceFacts(), On("H100")).time_ns);
}

TEST(OtherGpu, StoredTypesShowWhetherAnOpIsAProduct) {
  EXPECT_TRUE(LoadOf(Op(1, 1, 1, "tf32")).matmul);
  EXPECT_EQ(LoadOf(Op(1, 1, 1, "tf32")).type, NumberType::kF32);
  EXPECT_TRUE(LoadOf(Op(1, 1, 1, "f64_matrix")).matmul);
  EXPECT_FALSE(LoadOf(Op(1, 1, 1, "f64")).matmul);
  EXPECT_EQ(LoadOf(Op(1, 1, 1, "f64")).type, NumberType::kF64);
  EXPECT_FALSE(LoadOf(Op(1, 1, 1, "")).matmul);
}

}  // namespace
}  // namespace xlatrace::analysis
