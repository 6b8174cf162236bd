// SPDX-License-Identifier: Apache-2.0

// Synthetic ops on known GPUs. H100 SXM: 989 TFLOP/s bf16, 495 TF32, 66.9 f32, 3352 GB/s, 50 MiB of
// L2. The best kernels reach 0.80 of the bf16 peak and 0.91 of the bandwidth.

#include "analysis/roofline.h"

#include <gtest/gtest.h>

namespace xlatrace::analysis {
namespace {

DeviceFacts H100() { return FactsOf(*FindGpuByName("H100 SXM")); }

OpLoad Load(int64_t flops, int64_t bytes, int64_t time_ns, NumberType type = NumberType::kF32,
            bool matmul = false) {
  OpLoad load;
  load.flops = flops;
  load.bytes = bytes;
  load.time_ns = time_ns;
  load.launches = 1;
  load.type = type;
  load.matmul = matmul;
  return load;
}

TEST(Roofline, ProductAtItsPeakIsComputeBound) {
  // 4096^3 in bf16: 137.44 GFLOP, 100.7 MB; in 200 us that is 687 TFLOP/s and 503 GB/s.
  const Roofline roofline =
      ComputeRoofline(Load(137'438'953'472, 100'663'296, 200'000, NumberType::kBf16, true), H100());
  EXPECT_EQ(roofline.bound, BoundBy::kCompute);
  EXPECT_EQ(roofline.peak.type, "bf16");
  EXPECT_NEAR(*roofline.compute, 0.69484, 1e-4);
  EXPECT_NEAR(*roofline.memory, 0.15015, 1e-4);
  EXPECT_NEAR(static_cast<double>(*roofline.wasted_ns), 61'032, 10);  // 200 us x (1 - 0.69484)
  EXPECT_NEAR(static_cast<double>(*roofline.expected_ns), 193'010,
              30);  // 138.97 us at the peak / 0.72
  EXPECT_FALSE(roofline.above_peak);
}

TEST(Roofline, ElementwiseOpIsMemoryBound) {
  // 1 GB in 400 us: 2.5 TB/s of 3.352.
  const Roofline roofline = ComputeRoofline(Load(250'000'000, 1'000'000'000, 400'000), H100());
  EXPECT_EQ(roofline.bound, BoundBy::kMemory);
  EXPECT_NEAR(*roofline.memory, 0.74582, 1e-4);
  EXPECT_NEAR(static_cast<double>(*roofline.wasted_ns), 101'671, 10);
  EXPECT_NEAR(static_cast<double>(*roofline.expected_ns), 327'834, 30);  // 298.33 us / 0.91
}

TEST(Roofline, OpFarBelowBothRoofsIsLatencyBound) {
  // A scatter-add that moves 100 MB in 10 ms: 0.3 % of the bandwidth.
  const Roofline roofline = ComputeRoofline(Load(25'000'000, 100'000'000, 10'000'000), H100());
  EXPECT_EQ(roofline.bound, BoundBy::kLatency);
  EXPECT_NEAR(static_cast<double>(*roofline.wasted_ns), 9'970'167, 100);
}

TEST(Roofline, TinyKernelsAreExpectedToTakeTwoMicroseconds) {
  OpLoad load = Load(1000, 4'000'000, 24'000);
  load.launches = 8;  // 3 us each.
  const Roofline roofline = ComputeRoofline(load, H100());
  EXPECT_EQ(roofline.bound, BoundBy::kLatency);
  EXPECT_EQ(*roofline.expected_ns, 16'000);
}

TEST(Roofline, ExpectedTimeNeverExceedsTheMeasuredTime) {
  const Roofline roofline = ComputeRoofline(Load(0, 100, 1'500), H100());
  EXPECT_EQ(*roofline.expected_ns, 1'500);
  EXPECT_LE(*roofline.wasted_ns, 1'500);
}

TEST(Roofline, ShareAboveARoofIsCapped) {
  // 2 GB in 400 us would be 5 TB/s.
  const Roofline roofline = ComputeRoofline(Load(0, 2'000'000'000, 400'000), H100());
  EXPECT_TRUE(roofline.above_peak);
  EXPECT_GT(*roofline.memory, 1.4);
  EXPECT_EQ(*roofline.wasted_ns, 0);
  EXPECT_EQ(*roofline.expected_ns, 400'000);
}

TEST(Roofline, MissingCostsOrPeaksGiveUnknownBound) {
  OpLoad load = Load(1, 1, 1000);
  load.flops.reset();
  Roofline roofline = ComputeRoofline(load, H100());
  EXPECT_EQ(roofline.bound, BoundBy::kUnknown);
  EXPECT_FALSE(roofline.wasted_ns);
  EXPECT_TRUE(roofline.memory);  // The known side still has a value.
  load = Load(1'000'000, 1, 1000);
  load.bytes.reset();
  roofline = ComputeRoofline(load, H100());
  EXPECT_EQ(roofline.bound, BoundBy::kUnknown);
  EXPECT_FALSE(roofline.wasted_ns);
  EXPECT_FALSE(roofline.expected_ns);
  EXPECT_TRUE(roofline.compute);
  roofline = ComputeRoofline(Load(1, 1, 1000), DeviceFacts());
  EXPECT_EQ(roofline.bound, BoundBy::kUnknown);
  EXPECT_FALSE(roofline.expected_ns);
  EXPECT_EQ(ComputeRoofline(Load(1, 1, 0), H100()).bound, BoundBy::kUnknown);
}

TEST(Roofline, ZeroFlopsHaveNoComputeShareWithoutMemoryBandwidth) {
  EXPECT_FALSE(ComputeRoofline(Load(0, 1000, 1000), DeviceFacts()).compute);
  EXPECT_EQ(ComputeRoofline(Load(0, 1000, 1000), H100()).compute, 0);
}

// Example: a TPU whose profile has the memory bandwidth but no compute peak.
TEST(Roofline, OneOperationPerByteIsMemoryBoundWithoutComputePeak) {
  DeviceFacts device;
  device.memory_bandwidth_bytes_per_s = 1'000'000'000;  // A byte per nanosecond.
  device.achievable_memory = 0.9;
  Roofline roofline = ComputeRoofline(Load(100'000, 100'000, 125'000), device);
  EXPECT_EQ(roofline.bound, BoundBy::kMemory);
  EXPECT_FALSE(roofline.compute);
  EXPECT_DOUBLE_EQ(*roofline.memory, 0.8);
  EXPECT_NEAR(static_cast<double>(*roofline.wasted_ns), 25'000, 1);
  EXPECT_EQ(roofline.expected_ns, 111'111);
  for (const OpLoad& load :
       {Load(100'001, 100'000, 125'000), Load(100'000, 100'000, 125'000, NumberType::kF64)}) {
    roofline = ComputeRoofline(load, device);
    EXPECT_EQ(roofline.bound, BoundBy::kUnknown);
    EXPECT_FALSE(roofline.wasted_ns);
  }
}

TEST(Roofline, CommunicationIsBoundByTheNetwork) {
  OpLoad load = Load(1000, 1'000'000, 10'000);
  load.network = true;
  const Roofline roofline = ComputeRoofline(load, H100());
  EXPECT_EQ(roofline.bound, BoundBy::kNetwork);
  EXPECT_FALSE(roofline.wasted_ns);
}

TEST(Peaks, ProductsOfF32UseTf32UnlessDisabled) {
  EXPECT_EQ(PeakOf(H100(), NumberType::kF32, true, true).type, "tf32");
  EXPECT_EQ(PeakOf(H100(), NumberType::kF32, true, false).type, "f32");
  EXPECT_EQ(PeakOf(H100(), NumberType::kF32, false, true).type, "f32");
  // Volta has neither TF32 nor bf16 in its tensor cores.
  const DeviceFacts v100 = FactsOf(*FindGpuByName("V100"));
  EXPECT_EQ(PeakOf(v100, NumberType::kF32, true, true).type, "f32");
  EXPECT_EQ(PeakOf(v100, NumberType::kBf16, true, true).type, "f32");
  EXPECT_EQ(PeakOf(v100, NumberType::kF16, true, true).type, "f16");
  EXPECT_EQ(PeakOf(H100(), NumberType::kF64, true, true).type, "f64_matrix");
  EXPECT_EQ(PeakOf(H100(), NumberType::kF64, false, true).type, "f64");
  EXPECT_DOUBLE_EQ(PeakOf(H100(), NumberType::kF8, true, true).flops_per_s, 1979e12);
  EXPECT_DOUBLE_EQ(PeakOf(H100(), NumberType::kF16, true, true).flops_per_s, 989e12);
  EXPECT_DOUBLE_EQ(PeakOf(H100(), NumberType::kBf16, true, true).flops_per_s, 989e12);
  EXPECT_DOUBLE_EQ(PeakOf(H100(), NumberType::kF32, true, true).flops_per_s, 495e12);
  EXPECT_DOUBLE_EQ(PeakOf(H100(), NumberType::kF64, true, true).flops_per_s, 66.9e12);
  EXPECT_DOUBLE_EQ(PeakOf(H100(), NumberType::kI8, true, true).flops_per_s, 1979e12);
  // Elementwise bf16 is done in f32.
  EXPECT_EQ(PeakOf(H100(), NumberType::kBf16, false, true).type, "f32");
}

}  // namespace
}  // namespace xlatrace::analysis
