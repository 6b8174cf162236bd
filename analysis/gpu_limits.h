// SPDX-License-Identifier: Apache-2.0

// Limits on the blocks of a kernel on one multiprocessor (SM), per CUDA compute capability.
//
// Rules for blocks, granularity and sub-partitions: NVIDIA's cuda_occupancy.h of CUDA 13.0 (tests
// compare every row with the header where it is installed). Sizes: CUDA C++ Programming Guide,
// table "Technical Specifications per Compute Capability".
// Thread-safety: constants.

#ifndef XLATRACE_ANALYSIS_GPU_LIMITS_H_
#define XLATRACE_ANALYSIS_GPU_LIMITS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace xlatrace::analysis {

struct GpuLimits {
  std::string_view compute_capability;  // "9.0"
  int64_t threads_per_sm = 0;
  int64_t blocks_per_sm = 0;
  int64_t shared_memory_per_sm_bytes = 0;
  // The largest amount that one kernel can request.
  int64_t shared_memory_per_block_optin_bytes = 0;
  int64_t shared_memory_reserved_per_block_bytes = 0;  // Taken by the system for every block.
  int64_t shared_memory_granularity_bytes = 0;
  // The same amount for all kernels of the SM.
  int64_t shared_memory_per_block_bytes = 48 * 1024;  // Without opting in to more.
  int64_t registers_per_sm = 65'536;
  int64_t registers_per_block = 65'536;
  int64_t registers_per_thread = 255;
  int64_t register_granularity = 256;  // Registers are allocated to a warp in this unit.
  int64_t sub_partitions = 4;          // Each sub-partition has its own registers.
  int64_t threads_per_block = 1024;
  int64_t warp_size = 32;

  int64_t warps_per_sm() const { return threads_per_sm / warp_size; }
};

// 7.0 to 12.1.
std::span<const GpuLimits> AllGpuLimits();

// Empty for capabilities below 7.0, above 12.1 or of other vendors. A letter at the end ("9.0a") is
// ignored.
std::optional<GpuLimits> FindGpuLimits(std::string_view compute_capability);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_GPU_LIMITS_H_
