// SPDX-License-Identifier: Apache-2.0

// Occupancy: known kernels, and, where CUDA's headers are installed, NVIDIA's own calculator.

#include "analysis/occupancy.h"

#include <random>

#include <gtest/gtest.h>

#include "analysis/gpu_limits.h"

#ifdef XLATRACE_CUDA_OCCUPANCY
#include <cuda_occupancy.h>
#endif

namespace xlatrace::analysis {
namespace {

constexpr int64_t kKb = 1024;

KernelShape Kernel(int64_t threads, int64_t registers, int64_t shared = 0, int64_t blocks = 0) {
  KernelShape kernel;
  kernel.threads = threads;
  kernel.registers = registers;
  kernel.shared_memory_bytes = shared;
  kernel.blocks = blocks;
  return kernel;
}

Occupancy OnHopper(const KernelShape& kernel) {
  return ComputeOccupancy(kernel, *FindGpuLimits("9.0")).value_or(Occupancy());
}

TEST(Occupancy, WarpsAndRegistersLimitAtTheSameTime) {
  const Occupancy occupancy = OnHopper(Kernel(256, 32));
  EXPECT_EQ(occupancy.blocks_per_sm, 8);
  EXPECT_EQ(occupancy.milli_pct, 100'000);
  EXPECT_EQ(occupancy.Limiter(), "warps, registers");
}

TEST(Occupancy, LargeSharedMemoryUsesTheOptInLimit) {
  // A Hopper matrix product: with the default limit of 48 KB it would not run at all.
  const Occupancy gemm = OnHopper(Kernel(384, 168, 229'376));
  EXPECT_EQ(gemm.blocks_per_sm, 1);
  EXPECT_EQ(gemm.milli_pct, 18'750);  // 12 of 64 warps.
  EXPECT_EQ(gemm.Limiter(), "registers, shared_memory");
  EXPECT_EQ(OnHopper(Kernel(128, 128, 98'304)).blocks_per_sm, 2);
}

TEST(Occupancy, ThreadsAreRoundedUpToWarps) {
  const Occupancy occupancy = OnHopper(Kernel(100, 40));
  EXPECT_EQ(occupancy.blocks_per_sm, 12);
  EXPECT_EQ(occupancy.warps_per_block, 4);
  EXPECT_EQ(occupancy.Limiter(), "registers");
}

TEST(Occupancy, RegistersAreHandedOutPerWarpAndSubPartition) {
  EXPECT_EQ(OnHopper(Kernel(256, 255)).blocks_per_sm, 1);
  EXPECT_EQ(OnHopper(Kernel(1024, 64, 40'960)).blocks_per_sm, 1);
  // 33 registers cost as much as 40: 32 x 33 rounded up to units of 256.
  EXPECT_EQ(OnHopper(Kernel(256, 33)).by_registers, OnHopper(Kernel(256, 40)).by_registers);
}

TEST(Occupancy, SmallBlocksReachTheLimitOfBlocksPerSm) {
  const Occupancy occupancy = OnHopper(Kernel(32, 16));
  EXPECT_EQ(occupancy.blocks_per_sm, 32);
  EXPECT_EQ(occupancy.Limiter(), "blocks");
  EXPECT_EQ(occupancy.milli_pct, 50'000);
}

TEST(Occupancy, SharedMemoryReservedPerBlockCounts) {
  // 8.0: 164 KB per SM, 1 KB reserved per block: 40 KB blocks take 41 KB each, so 4 fit, not 4.1.
  EXPECT_EQ(ComputeOccupancy(Kernel(128, 32, 40 * kKb), *FindGpuLimits("8.0"))->by_shared_memory,
            4);
  // 7.0 reserves nothing: 96 KB / 40 KB.
  EXPECT_EQ(ComputeOccupancy(Kernel(128, 32, 40 * kKb), *FindGpuLimits("7.0"))->by_shared_memory,
            2);
}

TEST(Occupancy, ImpossibleLaunchHasNoOccupancy) {
  EXPECT_FALSE(ComputeOccupancy(Kernel(256, 256), *FindGpuLimits("9.0")));
  EXPECT_FALSE(ComputeOccupancy(Kernel(256, 0), *FindGpuLimits("9.0")));  // Not known.
  EXPECT_FALSE(ComputeOccupancy(Kernel(1025, 16), *FindGpuLimits("9.0")));
  EXPECT_FALSE(ComputeOccupancy(Kernel(32, 16, 228 * kKb), *FindGpuLimits("9.0")));
  EXPECT_TRUE(ComputeOccupancy(Kernel(32, 16, 227 * kKb), *FindGpuLimits("9.0")));
  // If a block may have less than the memory of an SM, the memory of the block decides.
  GpuLimits half = *FindGpuLimits("9.0");
  half.shared_memory_per_block_optin_bytes = 100 * kKb;
  EXPECT_TRUE(ComputeOccupancy(Kernel(32, 16, 100 * kKb), half));
  EXPECT_FALSE(ComputeOccupancy(Kernel(32, 16, 100 * kKb + 1), half));
}

TEST(Waves, WavesCountRoundsOfAFullGpu) {
  const Occupancy occupancy = OnHopper(Kernel(256, 32));  // 8 blocks on each of 132 SMs: 1056.
  EXPECT_EQ(WavesMilli(Kernel(256, 32, 0, 2640), occupancy, 132), 2500);
  EXPECT_EQ(WavesMilli(Kernel(256, 32, 0, 528), occupancy, 132), 500);
  EXPECT_FALSE(WavesMilli(Kernel(256, 32), occupancy, 132));
  EXPECT_FALSE(WavesMilli(Kernel(256, 32, 0, 528), occupancy, 0));
}

TEST(Waves, ClustersAreNotSplitBetweenWaves) {
  KernelShape kernel = Kernel(384, 168, 200'000, 130);
  kernel.cluster_blocks = 4;  // 1 block per SM: 33 clusters on 132 SMs, 32 on 131.
  const Occupancy occupancy = OnHopper(kernel);
  EXPECT_EQ(WavesMilli(kernel, occupancy, 132), 130 * 1000 / 132);
  EXPECT_EQ(WavesMilli(kernel, occupancy, 131), 130 * 1000 / 128);
}

TEST(Waves, PartialLastWaveCountsAsLoss) {
  EXPECT_EQ(TailLossMilli(2500), 167);  // 2.5 of 3 rounds are used.
  EXPECT_EQ(TailLossMilli(1000), 0);
  EXPECT_EQ(TailLossMilli(1010), 495);  // One straggler: half of the time is empty.
  EXPECT_EQ(TailLossMilli(0), 0);
}

TEST(OccupancySteps, RegisterCountsAreListedWithTheirOccupancy) {
  // 256 threads with 40 registers on 9.0: 6 blocks, 75 %. At most 32 registers give 8 blocks. 7
  // blocks would need at most 36 registers, but registers come in units of 8.
  const auto steps = RegisterSteps(Kernel(256, 40), *FindGpuLimits("9.0"));
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].limit, 32);
  EXPECT_EQ(steps[0].milli_pct, 100'000);
  EXPECT_TRUE(RegisterSteps(Kernel(256, 32), *FindGpuLimits("9.0")).empty());
}

TEST(OccupancySteps, SharedMemorySizesAreListedWithTheirOccupancy) {
  // 9.0, 1024 threads: two blocks fit when each takes at most 114 KB, 1 KB of them reserved.
  const auto steps = SharedMemorySteps(Kernel(1024, 32, 150 * kKb), *FindGpuLimits("9.0"));
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].limit, 113 * kKb);
  EXPECT_EQ(steps[0].milli_pct, 100'000);
}

TEST(Shape, LaunchShapeNeedsThreadsAndRegisters) {
  model::LaunchConfig config;
  EXPECT_FALSE(ShapeOf(config));
  for (int i = 0; i < 3; ++i) config.grid[i] = config.block[i] = i + 2;
  EXPECT_FALSE(ShapeOf(config));
  config.registers_per_thread = 0;  // In some sources 0 means "not known".
  EXPECT_FALSE(ShapeOf(config));
  config.registers_per_thread = 20;
  config.shared_memory_static_bytes = 100;
  config.shared_memory_dynamic_bytes = 28;
  ASSERT_TRUE(ShapeOf(config));
  EXPECT_EQ(ShapeOf(config)->threads, 24);
  EXPECT_EQ(ShapeOf(config)->blocks, 24);
  EXPECT_EQ(ShapeOf(config)->shared_memory_bytes, 128);
  config.kind = model::ActivityKind::kMemcpy;
  EXPECT_FALSE(ShapeOf(config));
}

TEST(Limits, EveryCapabilitySinceVoltaHasLimits) {
  for (const char* capability : {"7.0", "7.2", "7.5", "8.0", "8.6", "8.7", "8.9", "9.0", "9.0a",
                                 "10.0", "10.3", "11.0", "12.0", "12.1"}) {
    EXPECT_TRUE(FindGpuLimits(capability)) << capability;
  }
  for (const char* capability : {"6.0", "13.0", "gfx942", "", "a"}) {
    EXPECT_FALSE(FindGpuLimits(capability)) << capability;
  }
}

// NVIDIA's calculator, over random kernels of every capability of the table.
TEST(Limits, OccupancyEqualsNvidiasCalculator) {
#ifndef XLATRACE_CUDA_OCCUPANCY
  GTEST_SKIP() << "no cuda_occupancy.h: scripts/cuda_headers fetches it";
#else
  std::mt19937 random(20'261'121);
  for (const GpuLimits& limits : AllGpuLimits()) {
    cudaOccDeviceProp device;
    const std::string capability(limits.compute_capability);
    device.computeMajor = std::stoi(capability);
    device.computeMinor = std::stoi(capability.substr(capability.find('.') + 1));
    device.maxThreadsPerBlock = 1024;
    device.maxThreadsPerMultiprocessor = static_cast<int>(limits.threads_per_sm);
    device.regsPerBlock = static_cast<int>(limits.registers_per_block);
    device.regsPerMultiprocessor = static_cast<int>(limits.registers_per_sm);
    device.warpSize = 32;
    device.sharedMemPerBlock = static_cast<size_t>(limits.shared_memory_per_block_bytes);
    device.sharedMemPerMultiprocessor = static_cast<size_t>(limits.shared_memory_per_sm_bytes);
    device.numSms = 100;
    device.sharedMemPerBlockOptin = static_cast<size_t>(limits.shared_memory_per_block_optin_bytes);
    device.reservedSharedMemPerBlock =
        static_cast<size_t>(limits.shared_memory_reserved_per_block_bytes);
    int unknown = 0;
    for (int i = 0; i < 20'000; ++i) {
      const auto draw = [&](int64_t most) {
        return std::uniform_int_distribution<int64_t>(0, most)(random);
      };
      KernelShape kernel = Kernel(1 + draw(1023), 1 + draw(254));
      const int64_t fixed = draw(3) == 0 ? draw(48 * kKb) : 0;
      const int64_t dynamic =
          draw(2) == 0 ? 0 : draw(limits.shared_memory_per_block_optin_bytes - fixed);
      kernel.shared_memory_bytes = fixed + dynamic;
      cudaOccFuncAttributes function;
      function.maxThreadsPerBlock = 1024;
      function.numRegs = static_cast<int>(kernel.registers);
      function.sharedSizeBytes = static_cast<size_t>(fixed);
      function.partitionedGCConfig = PARTITIONED_GC_OFF;
      function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
      function.maxDynamicSharedSizeBytes = static_cast<size_t>(dynamic);
      function.numBlockBarriers = 1;
      cudaOccDeviceState state;
      cudaOccResult theirs;
      const cudaOccError error = cudaOccMaxActiveBlocksPerMultiprocessor(
          &theirs, &device, &function, &state, static_cast<int>(kernel.threads),
          static_cast<size_t>(dynamic));
      if (error == CUDA_OCC_ERROR_UNKNOWN_DEVICE) {
        ++unknown;
        break;
      }
      ASSERT_EQ(error, CUDA_OCC_SUCCESS) << capability;
      const std::optional<Occupancy> ours = ComputeOccupancy(kernel, limits);
      ASSERT_EQ(ours ? ours->blocks_per_sm : 0, theirs.activeBlocksPerMultiprocessor)
          << capability << ": " << kernel.threads << " threads, " << kernel.registers
          << " registers, " << fixed << " + " << dynamic << " bytes";
      if (!ours) continue;
      ASSERT_EQ(ours->by_warps, theirs.blockLimitWarps) << capability;
      ASSERT_EQ(ours->by_blocks, theirs.blockLimitBlocks) << capability;
      ASSERT_EQ(ours->by_registers, theirs.blockLimitRegs) << capability;
    }
    RecordProperty(capability, unknown == 0 ? "equal" : "unknown to this header");
  }
#endif
}

}  // namespace
}  // namespace xlatrace::analysis
