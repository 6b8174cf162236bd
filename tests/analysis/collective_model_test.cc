// SPDX-License-Identifier: Apache-2.0
#include "analysis/collective_model.h"

#include <gtest/gtest.h>

namespace xlatrace::analysis {
namespace {

TEST(CollectiveModel, StartAndDoneBelongToTheirCollective) {
  EXPECT_EQ(CollectiveOf("all-gather-start"), "all-gather");
  EXPECT_EQ(CollectiveOf("all-reduce-done"), "all-reduce");
  EXPECT_EQ(CollectiveOf("reduce-scatter"), "reduce-scatter");
  EXPECT_EQ(CollectiveOf("add"), "");
  EXPECT_EQ(CollectiveOf("async-start"), "");
}

TEST(CollectiveModel, FullBytesAndBusFactorsAreThoseOfNcclTests) {
  // 4 ranks, 1 MB result on each.
  EXPECT_EQ(FullBytes("all-gather", 1'000'000, 4), 1'000'000);
  EXPECT_EQ(FullBytes("reduce-scatter", 1'000'000, 4), 4'000'000);
  EXPECT_EQ(FullBytes("all-reduce", 1'000'000, 4), 1'000'000);
  EXPECT_DOUBLE_EQ(BusFactor("all-reduce", 4), 1.5);
  EXPECT_DOUBLE_EQ(BusFactor("all-gather", 4), 0.75);
  EXPECT_DOUBLE_EQ(BusFactor("all-to-all", 8), 0.875);
  EXPECT_DOUBLE_EQ(BusFactor("collective-permute", 8), 1);
  EXPECT_DOUBLE_EQ(BusFactor("all-reduce", 1), 1);
}

TEST(CollectiveModel, ExpectedTimesEqualMeasuredOnes) {
  const Gpu& h200 = *FindGpuByName("H200");
  // 8 x H200: 16 GiB all-reduce 482 GB/s, 256 MiB 436, 1 MiB 40.
  EXPECT_NEAR(*ExpectedBusBandwidth(h200, "all-reduce", int64_t{16} << 30, 8), 482e9, 5e9);
  EXPECT_NEAR(*ExpectedBusBandwidth(h200, "all-reduce", 256 << 20, 8), 436e9, 5e9);
  EXPECT_NEAR(*ExpectedBusBandwidth(h200, "all-reduce", 1 << 20, 8), 40e9, 2e9);
  // 8 x A100, 4 GB: 235 GB/s.
  EXPECT_NEAR(
      *ExpectedBusBandwidth(*FindGpuByName("A100 SXM 80GB"), "all-reduce", int64_t{4} << 30, 8),
      235e9, 10e9);
  EXPECT_FALSE(ExpectedBusBandwidth(*FindGpuByName("L4"), "all-reduce", 1 << 20, 8));
  EXPECT_FALSE(ExpectedBusBandwidth(h200, "all-reduce", 1 << 20, 1));
}

TEST(CollectiveModel, MoreBytesAreNeverExpectedSlower) {
  double before = 0;
  for (int64_t bytes = 1; bytes < int64_t{1} << 40; bytes *= 3) {
    const double now = *ExpectedBusBandwidth(*FindGpuByName("H100"), "all-gather", bytes, 8);
    EXPECT_GE(now, before) << bytes;
    before = now;
  }
}

}  // namespace
}  // namespace xlatrace::analysis
