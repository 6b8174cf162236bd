// SPDX-License-Identifier: Apache-2.0

// Capabilities of the run's devices: their recorded values, completed from the table of GPUs.
//
// For limits the recorded value has priority, because it comes from the driver. For memory
// bandwidth the table has priority, because sources report wrong values (profilers of AMD GPUs:
// half). Peaks of a GPU outside the table are computed if capability, SMs and clock are recorded.
// Such a GPU has only its recorded bandwidth. Thread-safety: plain data.

#ifndef XLATRACE_ANALYSIS_DEVICE_FACTS_H_
#define XLATRACE_ANALYSIS_DEVICE_FACTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/gpu_limits.h"
#include "analysis/gpu_table.h"
#include "model/derived.h"
#include "model/events.h"

namespace xlatrace::analysis {

struct DeviceFacts {
  const Gpu* gpu = nullptr;         // Row of the table; null: not in the table.
  std::optional<GpuLimits> limits;  // Empty if the capability is unknown.
  std::optional<GpuPeaks> peaks;
  bool peaks_by_formula = false;
  int64_t sm_count = 0;  // 0: unknown. The same holds for the fields below.
  int64_t clock_hz = 0;
  int64_t memory_bandwidth_bytes_per_s = 0;
  int64_t l2_bytes = 0;
  int64_t host_link_bytes_per_s = 0;
  int64_t peer_link_bytes_per_s = 0;
  // Shares of the peaks that the best kernels reach.
  double achievable_matmul = 0.75;
  double achievable_f8 = 0.7;
  double achievable_memory = 0.85;
};

DeviceFacts FactsOf(const model::Device& device);
std::vector<DeviceFacts> FactsOfDevices(const std::vector<model::Device>& devices);

// The facts if the program had run on this GPU.
DeviceFacts FactsOf(const Gpu& gpu);

// The row of view `device`, with recorded values and values of the table only.
model::DeviceFactsRow RowOf(const DeviceFacts& facts);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_DEVICE_FACTS_H_
