// SPDX-License-Identifier: Apache-2.0

// What the devices of a run can do: their own record, completed from the table of known GPUs.
//
// The record wins for limits (a driver knows its device); the table wins for memory bandwidth,
// which sources get wrong (profilers of AMD GPUs report half of it). A GPU that is not in the table
// gets peaks by formula where capability, SMs and clock are recorded, and no bandwidth but its own.
// Thread-safety: plain data.

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
  const Gpu* gpu = nullptr;         // Row of the table; null: not there.
  std::optional<GpuLimits> limits;  // Nothing when the capability is not known.
  std::optional<GpuPeaks> peaks;
  bool peaks_by_formula = false;
  int64_t sm_count = 0;  // 0: not known; the same for all below.
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

// As if the program had run on another GPU.
DeviceFacts FactsOf(const Gpu& gpu);

// The row of view `device`: only what the facts say, record or table.
model::DeviceFactsRow RowOf(const DeviceFacts& facts);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_DEVICE_FACTS_H_
