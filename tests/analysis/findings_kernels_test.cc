// SPDX-License-Identifier: Apache-2.0

// Rules about launches, clocks and links between devices, each from both sides: a case that has the
// problem, and a near case that has not.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/analysis/finding_case.h"
#include "tests/analysis/finding_programs.h"

namespace xlatrace::analysis {
namespace {

using testing::HasSubstr;

// A product on 132 multiprocessors that hold one of its blocks each (200 kB of shared memory).
FindingCase ProductIn(int64_t blocks, int64_t us) {
  FindingCase made(Product(""));
  made.AddSteps(8, {{"y", 100}, {"dot", us}});
  made.SetLaunch("dot", blocks, 128, 128, 200'000);
  made.Run();
  return made;
}

TEST(KernelRules, AProductThatLeavesItsLastWaveEmptyAndOnesThatDoNot) {
  // 140 blocks: a whole wave and eight blocks, so 53 % of two waves.
  const FindingCase with = ProductIn(140, 1000);
  ASSERT_NE(with.Find("gemm_tail_waves"), nullptr) << with.Ops();
  EXPECT_THAT(with.Find("gemm_tail_waves")->title, HasSubstr("1.06 waves"));
  EXPECT_NEAR(static_cast<double>(*with.Find("gemm_tail_waves")->saves_high_ns_per_step), 469.7e3,
              1e3);
  // 260 blocks fill both waves but for four.
  EXPECT_EQ(ProductIn(260, 1000).Find("gemm_tail_waves"), nullptr);
  // One block for each multiprocessor: a persistent kernel, whose tiles the grid does not tell.
  EXPECT_EQ(ProductIn(132, 1000).Find("gemm_tail_waves"), nullptr);
  // As fast as products get: the waves do no harm.
  EXPECT_EQ(ProductIn(140, 450).Find("gemm_tail_waves"), nullptr);
}

// A fusion with so many registers, in blocks of 256 threads.
FindingCase WithRegisters(int64_t registers, int64_t us) {
  FindingCase made(Product(""));
  made.AddSteps(8, {{"y", us}, {"dot", 450}});
  made.SetLaunch("y", 65'536, 256, registers);
  made.Run();
  return made;
}

TEST(KernelRules, RegistersThatLeaveRoomForFewWarpsAndOnesThatDoNotMatter) {
  const FindingCase with = WithRegisters(255, 1000);
  ASSERT_NE(with.Find("register_pressure"), nullptr) << with.Ops();
  // Eight warps of 64.
  EXPECT_EQ(EvidenceOf(*with.Find("register_pressure"), "occupancy"), 12.5);
  EXPECT_EQ(WithRegisters(64, 1000).Find("register_pressure"), nullptr);
  // 134 MB in 60 us are two thirds of the bandwidth: occupancy is not the lever.
  EXPECT_EQ(WithRegisters(255, 60).Find("register_pressure"), nullptr);
}

// 24 steps, of which the later half takes other times (and these vary a little, as they do).
FindingCase WithClocks(int64_t product_us, int64_t memory_us) {
  FindingCase made(Product(""));
  int64_t at = 0;
  for (int step = 0; step < 24; ++step) {
    const bool late = step >= 12;
    at = made.Step(at, {{"y", late ? memory_us : 60},
                        {"dot", late ? product_us + (step % 2 == 0 ? 20 : -20) : 500}});
  }
  made.Run();
  return made;
}

TEST(KernelRules, ProductsThatSlowDownTogetherAndWhatElseSlowsThem) {
  const FindingCase with = WithClocks(550, 60);
  ASSERT_NE(with.Find("clock_throttle"), nullptr) << with.Ops();
  // What memory bounds slows down as much: it is not the multiprocessors' clock.
  EXPECT_EQ(WithClocks(550, 66).Find("clock_throttle"), nullptr);
  EXPECT_EQ(WithClocks(500, 60).Find("clock_throttle"), nullptr);
}

TEST(KernelRules, KernelsSlowedBesideACollectiveAndOnesThatAreNot) {
  FindingCase with(WithCollective());
  with.Steps(8, {{"+g", 300}, {"y", 300}, {"y", 200}});
  ASSERT_NE(with.Find("overlap_slows_compute"), nullptr) << with.Ops();
  // Half of the 100 us that are lost.
  EXPECT_EQ(with.Find("overlap_slows_compute")->saves_high_ns_per_step, 50'000);
  FindingCase near(WithCollective());
  near.Steps(8, {{"+g", 220}, {"y", 220}, {"y", 200}});
  EXPECT_EQ(near.Find("overlap_slows_compute"), nullptr) << near.Ids();
  EXPECT_NE(near.FindRuledOut("overlap_slows_compute"), nullptr);
  // As slow alone as beside it: the kernel itself is slow.
  FindingCase both(WithCollective());
  both.Steps(8, {{"+g", 300}, {"y", 300}, {"y", 300}});
  EXPECT_EQ(both.Find("overlap_slows_compute"), nullptr) << both.Ids();
}

// Eight steps that end with reading 8 MiB back, alone or beside the next kernel.
FindingCase WithReadBack(int64_t us, bool beside) {
  FindingCase made(Chain(false));
  made.b.run.devices[0].name = "NVIDIA H100 80GB HBM3";
  int64_t at = 0;
  for (int step = 0; step < 8; ++step) {
    const int64_t end = made.Step(at, {{"y", 500}, {"z", 500}});
    const int64_t from = beside ? at : end;
    const size_t copy = made.b.AddActivity(
        2, from * 1000, (from + us) * 1000,
        {.execution = static_cast<model::Id>(made.b.attribution.executions.size()),
         .kind = model::ActivityKind::kMemcpy,
         .reason = model::Reason::kTransfer,
         .copy = model::CopyKind::kDeviceToHost});
    made.b.run.activities.bytes[copy] = 8 << 20;
    at = beside ? end : end + us;
  }
  made.Run();
  return made;
}

TEST(KernelRules, ReadingBackSlowerThanTheLinkAndAsFast) {
  // 10.5 GB/s over PCIe 5.
  const FindingCase with = WithReadBack(800, false);
  ASSERT_NE(with.Find("d2h_stall"), nullptr) << with.Ops();
  EXPECT_NEAR(static_cast<double>(*with.Find("d2h_stall")->saves_high_ns_per_step), 800e3, 101e3);
  // 52 GB/s.
  const FindingCase fast = WithReadBack(160, false);
  EXPECT_EQ(fast.Find("d2h_stall"), nullptr) << fast.Ids();
  EXPECT_NE(fast.FindRuledOut("d2h_stall"), nullptr);
  const FindingCase hidden = WithReadBack(800, true);
  EXPECT_EQ(hidden.Find("d2h_stall"), nullptr) << hidden.Ids();
}

// An all-reduce of 64 MiB among `ranks`, on the two devices of this run, of which the first comes
// `early_us` before the other and waits.
FindingCase AllReduce(int ranks, int64_t us, int64_t early_us = 0) {
  std::string groups;
  for (int k = 0; k < ranks; ++k) groups += (k > 0 ? "," : "") + std::to_string(k);
  std::string text = WithCollective();
  const std::string apply = "to_apply=sum";
  text.replace(text.find(apply), apply.size(), "replica_groups={{" + groups + "}}, " + apply);
  FindingCase made(text, 2);
  for (model::Device& device : made.b.run.devices) device.name = "NVIDIA H100 80GB HBM3";
  int64_t at = 0;
  for (int step = 0; step < 8; ++step) {
    made.Step(at, {{"y", 2000}, {"g", early_us + us}}, 1);
    at = made.Step(at, {{"y", 2000 + early_us}, {"g", us}}, 2);
  }
  made.Run();
  return made;
}

TEST(KernelRules, ACollectiveFarBelowTheLinksAndOneNearThem) {
  // 13 GB/s, where two H100 do some hundreds.
  const FindingCase with = AllReduce(2, 5000);
  ASSERT_NE(with.Find("low_busbw"), nullptr) << with.Ops();
  EXPECT_EQ(with.Find("low_busbw")->where_source, "a.py:90");
  // 268 GB/s.
  const FindingCase near = AllReduce(2, 250);
  EXPECT_EQ(near.Find("low_busbw"), nullptr) << near.Ids();
  // Sixteen ranks are on other hosts as well, and the network between them is not known.
  const FindingCase far = AllReduce(16, 5000);
  EXPECT_EQ(far.Find("low_busbw"), nullptr) << far.Ids();
  ASSERT_NE(far.FindRuledOut("low_busbw"), nullptr);
  EXPECT_TRUE(far.FindRuledOut("low_busbw")->withheld);
}

TEST(KernelRules, WaitingForAnotherDeviceIsNotTheLinksFault) {
  // 67 GB/s for 1 ms, after the first device has waited 10 ms.
  const FindingCase with = AllReduce(2, 1000, 10'000);
  ASSERT_NE(with.Find("arrival_skew"), nullptr) << with.Ids();
  ASSERT_NE(with.Find("low_busbw"), nullptr) << with.Ids();
  EXPECT_LT(*with.Find("low_busbw")->saves_high_ns_per_step, 1'000'000);
}

}  // namespace
}  // namespace xlatrace::analysis
