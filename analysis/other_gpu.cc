// SPDX-License-Identifier: Apache-2.0
#include "analysis/other_gpu.h"

#include <algorithm>
#include <array>
#include <utility>

namespace xlatrace::analysis {

OpLoad LoadOf(const StoredOp& op) {
  static constexpr std::array<std::pair<std::string_view, NumberType>, 7> kMatrixTypes = {{
      {"bf16", NumberType::kBf16},
      {"f16", NumberType::kF16},
      {"tf32", NumberType::kF32},
      {"f8", NumberType::kF8},
      {"i8", NumberType::kI8},
      {"f4", NumberType::kF4},
      {"f64_matrix", NumberType::kF64},
  }};
  OpLoad load;
  load.flops = op.flops;
  load.bytes = op.bytes;
  load.time_ns = op.time_ns;
  load.launches = op.launches;
  load.network = op.bound_by == Text(BoundBy::kNetwork) || op.bound_by == Text(BoundBy::kWaiting);
  load.type = op.compute_type == "f64" ? NumberType::kF64 : NumberType::kF32;
  for (const auto& [name, type] : kMatrixTypes) {
    if (op.compute_type != name) continue;
    load.type = type;
    load.matmul = true;
  }
  return load;
}

OtherGpuEstimate EstimateOn(const StoredOp& op, const DeviceFacts& here, const DeviceFacts& there) {
  OtherGpuEstimate estimate;
  const OpLoad load = LoadOf(op);
  estimate.there = ComputeRoofline(load, there);
  if (load.network) return estimate;
  if (!here.peaks) {
    estimate.time_ns = op.time_ns;
    return estimate;
  }
  const Roofline now = ComputeRoofline(load, here);
  if (!now.compute || !now.memory || !estimate.there.compute || !estimate.there.memory) {
    return estimate;
  }
  // Shares of the same time: their ratio is that of the times at the roof.
  const double roof_here = std::max(*now.compute, *now.memory);
  const double roof_there = std::max(*estimate.there.compute, *estimate.there.memory);
  if (now.bound == BoundBy::kLatency || roof_here <= 0) {
    estimate.time_ns = op.time_ns;  // Launch costs and waiting do not shrink with the roof.
    return estimate;
  }
  const double shortest =
      static_cast<double>(std::max<int64_t>(op.launches, 1)) * static_cast<double>(kMinKernelNs);
  const double time = static_cast<double>(op.time_ns) * roof_there / roof_here;
  estimate.time_ns =
      static_cast<int64_t>(std::max(time, std::min(shortest, static_cast<double>(op.time_ns))));
  return estimate;
}

}  // namespace xlatrace::analysis
