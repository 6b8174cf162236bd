// SPDX-License-Identifier: Apache-2.0
#include "analysis/occupancy.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace xlatrace::analysis {
namespace {

// Recorded sizes may be damaged. Real sizes are far below this limit.
constexpr int64_t kMaxRecordedSize = int64_t{1} << 40;

int64_t RoundUp(int64_t value, int64_t unit) {
  return unit <= 1 ? value : (value + unit - 1) / unit * unit;
}

int64_t BlocksByRegisters(int64_t registers, int64_t warps, const GpuLimits& limits) {
  if (registers > limits.registers_per_thread) return 0;
  const int64_t per_warp = RoundUp(registers * limits.warp_size, limits.register_granularity);
  if (per_warp * RoundUp(warps, limits.sub_partitions) > limits.registers_per_block) return 0;
  const int64_t warps_per_partition = limits.registers_per_sm / limits.sub_partitions / per_warp;
  return warps_per_partition * limits.sub_partitions / warps;
}

int64_t BlocksBySharedMemory(int64_t bytes, const GpuLimits& limits) {
  const int64_t used = RoundUp(bytes + limits.shared_memory_reserved_per_block_bytes,
                               limits.shared_memory_granularity_bytes);
  if (used == 0) return INT64_MAX;
  if (bytes > limits.shared_memory_per_block_optin_bytes) return 0;
  return limits.shared_memory_per_sm_bytes / used;
}

// One step per distinct occupancy above the present one. `at` gives the kernel with a resource
// cut to a value; values fall from `from` to `to` by `by`.
template <typename At>
std::vector<OccupancyStep> Steps(const KernelShape& kernel, const GpuLimits& limits, int64_t from,
                                 int64_t to, int64_t by, At at) {
  std::vector<OccupancyStep> steps;
  const std::optional<Occupancy> now = ComputeOccupancy(kernel, limits);
  int64_t best = now ? now->milli_pct : 0;
  for (int64_t value = from; value >= to; value -= by) {
    const std::optional<Occupancy> then = ComputeOccupancy(at(value), limits);
    if (!then || then->milli_pct <= best) continue;
    best = then->milli_pct;
    steps.push_back({value, best});
  }
  return steps;
}

}  // namespace

std::optional<KernelShape> ShapeOf(const model::LaunchConfig& config) {
  if (config.kind != model::ActivityKind::kKernel) return std::nullopt;
  KernelShape shape;
  shape.threads = 1;
  shape.blocks = 1;
  bool grid_known = true;
  for (int i = 0; i < 3; ++i) {
    const int64_t block = config.block[i].value_or(0);
    if (block <= 0 || block > 1024) return std::nullopt;
    shape.threads *= block;
    const int64_t grid = config.grid[i].value_or(0);
    if (grid <= 0 || shape.blocks > kMaxRecordedSize / std::max<int64_t>(grid, 1)) {
      grid_known = false;
    } else {
      shape.blocks *= grid;
    }
    const int64_t cluster = config.cluster[i].value_or(1);
    if (cluster > 1 && cluster <= 32) shape.cluster_blocks *= cluster;
  }
  if (!grid_known) shape.blocks = 0;
  shape.registers = config.registers_per_thread.value_or(0);
  if (shape.threads > 1024 || shape.registers <= 0) return std::nullopt;
  for (const auto& bytes :
       {config.shared_memory_static_bytes, config.shared_memory_dynamic_bytes}) {
    if (bytes && (*bytes < 0 || *bytes > kMaxRecordedSize)) return std::nullopt;
    shape.shared_memory_bytes += bytes.value_or(0);
  }
  return shape;
}

std::string Occupancy::Limiter() const {
  const std::array<std::pair<int64_t, std::string_view>, 4> resources = {{
      {by_warps, "warps"},
      {by_registers, "registers"},
      {by_shared_memory, "shared_memory"},
      {by_blocks, "blocks"},
  }};
  std::string text;
  for (const auto& [blocks, name] : resources) {
    if (blocks != blocks_per_sm) continue;
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text;
}

std::optional<Occupancy> ComputeOccupancy(const KernelShape& kernel, const GpuLimits& limits) {
  if (kernel.threads <= 0 || kernel.threads > limits.threads_per_block || kernel.registers <= 0) {
    return std::nullopt;
  }
  Occupancy occupancy;
  const int64_t warps = (kernel.threads + limits.warp_size - 1) / limits.warp_size;
  occupancy.warps_per_block = warps;
  occupancy.by_warps = limits.warps_per_sm() / warps;
  occupancy.by_registers = BlocksByRegisters(kernel.registers, warps, limits);
  occupancy.by_shared_memory = BlocksBySharedMemory(kernel.shared_memory_bytes, limits);
  occupancy.by_blocks = limits.blocks_per_sm;
  occupancy.blocks_per_sm = std::min({occupancy.by_warps, occupancy.by_registers,
                                      occupancy.by_shared_memory, occupancy.by_blocks});
  if (occupancy.blocks_per_sm <= 0) return std::nullopt;
  occupancy.milli_pct = occupancy.blocks_per_sm * warps * 100'000 / limits.warps_per_sm();
  return occupancy;
}

std::optional<int64_t> WavesMilli(const KernelShape& kernel, const Occupancy& occupancy,
                                  int64_t sm_count) {
  if (kernel.blocks <= 0 || sm_count <= 0) return std::nullopt;
  int64_t at_once = occupancy.blocks_per_sm * sm_count;
  if (kernel.cluster_blocks > 1) at_once -= at_once % kernel.cluster_blocks;
  if (at_once <= 0) return std::nullopt;
  return static_cast<int64_t>(static_cast<__int128>(kernel.blocks) * 1000 / at_once);
}

int64_t TailLossMilli(int64_t waves_milli) {
  const int64_t rounds = (waves_milli + 999) / 1000 * 1000;
  return rounds == 0 ? 0 : 1000 - waves_milli * 1000 / rounds;
}

std::vector<OccupancyStep> RegisterSteps(const KernelShape& kernel, const GpuLimits& limits) {
  KernelShape changed = kernel;
  return Steps(kernel, limits, kernel.registers - 1, 16, 1, [&](int64_t registers) {
    changed.registers = registers;
    return changed;
  });
}

std::vector<OccupancyStep> SharedMemorySteps(const KernelShape& kernel, const GpuLimits& limits) {
  KernelShape changed = kernel;
  const int64_t unit = std::max<int64_t>(limits.shared_memory_granularity_bytes, 1);
  const int64_t from =
      std::min(kernel.shared_memory_bytes, limits.shared_memory_per_block_optin_bytes) / unit *
      unit;
  return Steps(kernel, limits, from, 0, unit, [&](int64_t bytes) {
    changed.shared_memory_bytes = bytes;
    return changed;
  });
}

}  // namespace xlatrace::analysis
