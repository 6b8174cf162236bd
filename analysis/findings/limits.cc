// SPDX-License-Identifier: Apache-2.0
#include "analysis/findings/limits.h"

namespace xlatrace::analysis::findings {
namespace {

// Share of the best kernels' rate that well-made training kernels reach.
constexpr double kTypicalKernelShare = 0.9;

}  // namespace

Limits LimitsOf(const DeviceFacts& device) {
  Limits limits;
  if (device.memory_bandwidth_bytes_per_s > 0) {
    limits.bytes =
        device.achievable_memory * static_cast<double>(device.memory_bandwidth_bytes_per_s);
  }
  if (!device.peaks) return limits;
  const double share = kTypicalKernelShare * device.achievable_matmul;
  if (device.peaks->f32 > 0) limits.f32 = share * device.peaks->f32;
  if (device.peaks->tf32 > 0) limits.tf32 = share * device.peaks->tf32;
  const double half = device.peaks->bf16 > 0 ? device.peaks->bf16 : device.peaks->f16;
  if (half > 0) limits.half = share * half;
  if (half > 0) limits.half_peak = half;
  return limits;
}

}  // namespace xlatrace::analysis::findings
