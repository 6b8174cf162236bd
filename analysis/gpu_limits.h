// SPDX-License-Identifier: Apache-2.0

// What limits the blocks of a kernel on one multiprocessor (SM), per CUDA compute capability.
//
// Sources: block, granularity and sub-partition rules as in NVIDIA's cuda_occupancy.h of CUDA 13.0
// (tests compare every row with the header where it is installed); sizes from the table "Technical
// Specifications per Compute Capability" of the CUDA C++ Programming Guide.
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
  int64_t shared_memory_per_block_optin_bytes = 0;     // The most a kernel can ask for.
  int64_t shared_memory_reserved_per_block_bytes = 0;  // By the system, of every block.
  int64_t shared_memory_granularity_bytes = 0;
  // The same for all of them.
  int64_t shared_memory_per_block_bytes = 48 * 1024;  // Without opting in to more.
  int64_t registers_per_sm = 65'536;
  int64_t registers_per_block = 65'536;
  int64_t registers_per_thread = 255;
  int64_t register_granularity = 256;  // Registers are handed out to a warp in units of this.
  int64_t sub_partitions = 4;          // Each has its own registers.
  int64_t threads_per_block = 1024;
  int64_t warp_size = 32;

  int64_t warps_per_sm() const { return threads_per_sm / warp_size; }
};

// 7.0 to 12.1.
std::span<const GpuLimits> AllGpuLimits();

// Nothing for capabilities that are not NVIDIA's or older than 7.0 or newer than 12.1. A letter
// behind it ("9.0a") is ignored.
std::optional<GpuLimits> FindGpuLimits(std::string_view compute_capability);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_GPU_LIMITS_H_
