// SPDX-License-Identifier: Apache-2.0
#include "analysis/gpu_limits.h"

namespace xlatrace::analysis {
namespace {

constexpr int64_t kKiB = 1024;

// Capability, threads and blocks per SM; shared memory: per SM, per block when opted in, reserved
// per block, granularity.
constexpr GpuLimits kLimits[] = {
    {"7.0", 2048, 32, 96 * kKiB, 96 * kKiB, 0, 256},
    {"7.2", 2048, 32, 96 * kKiB, 96 * kKiB, 0, 256},
    {"7.5", 1024, 16, 64 * kKiB, 64 * kKiB, 0, 256},
    {"8.0", 2048, 32, 164 * kKiB, 163 * kKiB, kKiB, 128},
    {"8.6", 1536, 16, 100 * kKiB, 99 * kKiB, kKiB, 128},
    {"8.7", 1536, 16, 164 * kKiB, 163 * kKiB, kKiB, 128},
    {"8.9", 1536, 24, 100 * kKiB, 99 * kKiB, kKiB, 128},
    {"9.0", 2048, 32, 228 * kKiB, 227 * kKiB, kKiB, 128},
    {"10.0", 2048, 32, 228 * kKiB, 227 * kKiB, kKiB, 128},
    {"10.1", 1536, 24, 228 * kKiB, 227 * kKiB, kKiB, 128},  // Named 11.0 from CUDA 13 on.
    {"10.3", 2048, 32, 228 * kKiB, 227 * kKiB, kKiB, 128},
    {"11.0", 1536, 24, 228 * kKiB, 227 * kKiB, kKiB, 128},
    {"12.0", 1536, 24, 100 * kKiB, 99 * kKiB, kKiB, 128},
    {"12.1", 1536, 24, 100 * kKiB, 99 * kKiB, kKiB, 128},
};

}  // namespace

std::span<const GpuLimits> AllGpuLimits() { return kLimits; }

std::optional<GpuLimits> FindGpuLimits(std::string_view compute_capability) {
  if (!compute_capability.empty() &&
      (compute_capability.back() == 'a' || compute_capability.back() == 'f')) {
    compute_capability.remove_suffix(1);
  }
  for (const GpuLimits& limits : kLimits) {
    if (limits.compute_capability == compute_capability) return limits;
  }
  return std::nullopt;
}

}  // namespace xlatrace::analysis
