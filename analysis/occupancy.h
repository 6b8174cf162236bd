// SPDX-License-Identifier: Apache-2.0

// How many blocks of a kernel fit on a multiprocessor at once: CUDA's occupancy calculator.
//
// Semantics of cudaOccMaxActiveBlocksPerMultiprocessor (cuda_occupancy.h, CUDA 13.0) for a kernel
// that opted in to its shared memory and uses one barrier. Warps are rounded up. Registers are
// allocated per warp in units of 256 and per sub-partition. Shared memory is allocated in units of
// 128 or 256 bytes, plus the system's reserve. Named barriers, and a smaller carve-out of shared
// memory that the driver may choose, are not recorded and are ignored. Clusters only lengthen the
// waves in this model (blocks come in whole clusters). NVIDIA does not publish how clusters fit
// into the groups of SMs. Thread-safety: pure functions.

#ifndef XLATRACE_ANALYSIS_OCCUPANCY_H_
#define XLATRACE_ANALYSIS_OCCUPANCY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/gpu_limits.h"
#include "model/events.h"

namespace xlatrace::analysis {

struct KernelShape {
  int64_t blocks = 0;   // Blocks of the grid; 0: unknown.
  int64_t threads = 0;  // Per block.
  int64_t registers = 0;
  int64_t shared_memory_bytes = 0;  // Static and dynamic, per block.
  int64_t cluster_blocks = 1;
};

// Shape of a recorded launch; empty if threads or registers are unknown (0 registers mean that the
// source did not record them).
std::optional<KernelShape> ShapeOf(const model::LaunchConfig& config);

struct Occupancy {
  int64_t blocks_per_sm = 0;
  int64_t warps_per_block = 0;
  int64_t milli_pct = 0;  // Resident warps per possible warps, in thousandths of a percent.
  // Number of blocks that each resource allows; INT64_MAX if the resource is no limit.
  int64_t by_warps = 0;
  int64_t by_registers = 0;
  int64_t by_shared_memory = 0;
  int64_t by_blocks = 0;

  // Resources that allow the fewest: "registers", "warps, registers". At 100 % that is "warps".
  std::string Limiter() const;
};

// Empty if not even one block fits. No kernel that ran can have this shape, so the recorded figures
// or the GPU's limits are wrong.
std::optional<Occupancy> ComputeOccupancy(const KernelShape& kernel, const GpuLimits& limits);

// Rounds of full GPUs that the grid needs, in thousandths: 2500 = two full rounds and a half-empty
// one. Empty without grid or SMs.
std::optional<int64_t> WavesMilli(const KernelShape& kernel, const Occupancy& occupancy,
                                  int64_t sm_count);

// Share of the SMs' time that the last, partly empty round leaves unused, in thousandths: 0 for
// whole numbers of waves, 167 for 2.5. Not valid for kernels whose blocks loop over work.
int64_t TailLossMilli(int64_t waves_milli);

// "With at most `limit` registers per thread (bytes of shared memory per block) the occupancy is
// `milli_pct`". One entry per higher occupancy that a change of this resource alone reaches,
// ascending.
struct OccupancyStep {
  int64_t limit = 0;
  int64_t milli_pct = 0;
};
std::vector<OccupancyStep> RegisterSteps(const KernelShape& kernel, const GpuLimits& limits);
std::vector<OccupancyStep> SharedMemorySteps(const KernelShape& kernel, const GpuLimits& limits);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_OCCUPANCY_H_
