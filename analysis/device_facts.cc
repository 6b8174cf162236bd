// SPDX-License-Identifier: Apache-2.0
#include "analysis/device_facts.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace xlatrace::analysis {
namespace {

void Complete(const Gpu& gpu, DeviceFacts& facts) {
  facts.gpu = &gpu;
  facts.peaks = gpu.peaks;
  facts.memory_bandwidth_bytes_per_s = gpu.memory_bandwidth_bytes_per_s;
  facts.host_link_bytes_per_s = gpu.host_link_bytes_per_s;
  facts.peer_link_bytes_per_s = gpu.peer_link_bytes_per_s;
  facts.achievable_matmul = gpu.achievable_matmul;
  facts.achievable_f8 = gpu.achievable_f8;
  facts.achievable_memory = gpu.achievable_memory;
  if (facts.sm_count == 0) facts.sm_count = gpu.sm_count;
  if (facts.clock_hz == 0) facts.clock_hz = gpu.clock_hz;
  if (facts.l2_bytes == 0) facts.l2_bytes = gpu.l2_bytes;
}

void TakeRecorded(const model::Device& device, GpuLimits& limits) {
  const std::array<std::pair<const std::optional<int64_t>*, int64_t*>, 9> fields = {{
      {&device.max_threads_per_sm, &limits.threads_per_sm},
      {&device.max_blocks_per_sm, &limits.blocks_per_sm},
      {&device.registers_per_sm, &limits.registers_per_sm},
      {&device.registers_per_block, &limits.registers_per_block},
      {&device.shared_memory_per_sm_bytes, &limits.shared_memory_per_sm_bytes},
      {&device.shared_memory_per_block_bytes, &limits.shared_memory_per_block_bytes},
      {&device.shared_memory_per_block_optin_bytes, &limits.shared_memory_per_block_optin_bytes},
      {&device.shared_memory_reserved_per_block_bytes,
       &limits.shared_memory_reserved_per_block_bytes},
      {&device.max_threads_per_block, &limits.threads_per_block},
  }};
  for (const auto& [recorded, limit] : fields) {
    if (*recorded && **recorded > 0) *limit = **recorded;
  }
}

std::optional<int64_t> Known(int64_t value) {
  return value > 0 ? std::optional<int64_t>(value) : std::nullopt;
}

std::string PeaksJson(const GpuPeaks& peaks) {
  const std::array<std::pair<const char*, double>, 9> types = {{{"f64", peaks.f64},
                                                                {"f64_matrix", peaks.f64_matrix},
                                                                {"f32", peaks.f32},
                                                                {"tf32", peaks.tf32},
                                                                {"f16", peaks.f16},
                                                                {"bf16", peaks.bf16},
                                                                {"f8", peaks.f8},
                                                                {"i8", peaks.i8},
                                                                {"f4", peaks.f4}}};
  std::string json = "{";
  for (const auto& [type, peak] : types) {
    if (peak <= 0) continue;
    json += fmt::format("{}\"{}\":{}", json.size() > 1 ? "," : "", type,
                        static_cast<int64_t>(peak + 0.5));
  }
  return json + "}";
}

// "GPU", "AMD GPU (304 compute units)": at most a vendor in front of "GPU".
bool HasGenericName(const model::Device& device) {
  if (device.kind != model::DeviceKind::kGpu) return false;
  const std::string_view name = device.name;
  if (name.empty()) return true;
  const size_t gpu = name.find("GPU");
  if (gpu == std::string_view::npos) return false;
  const std::string_view vendor = name.substr(0, gpu), rest = name.substr(gpu + 3);
  return std::count(vendor.begin(), vendor.end(), ' ') <= 1 &&
         (rest.empty() || rest.starts_with(" ("));
}

template <typename Value>
bool Agree(const std::optional<Value>& a, const std::optional<Value>& b) {
  return !a || !b || *a == *b;
}

// Whether `device` may be the same GPU as `known`, which is a `gpu`: no figure contradicts.
bool MayBe(const Gpu& gpu, const model::Device& known, const model::Device& device) {
  return (device.compute_capability.empty() ||
          device.compute_capability == gpu.compute_capability) &&
         (!device.sm_count || *device.sm_count == gpu.sm_count) &&
         Agree(device.memory_bytes, known.memory_bytes);
}

}  // namespace

DeviceFacts FactsOf(const model::Device& device) {
  DeviceFacts facts;
  facts.sm_count = device.sm_count.value_or(0);
  facts.clock_hz = device.clock_hz.value_or(0);
  facts.l2_bytes = device.l2_bytes.value_or(0);
  if (device.kind != model::DeviceKind::kGpu) {
    // Devices other than GPUs have no peaks; the source may have a memory bandwidth.
    facts.memory_bandwidth_bytes_per_s = device.memory_bandwidth_bytes_per_s.value_or(0);
    return facts;
  }
  const Gpu* gpu = FindGpu(device);
  if (gpu != nullptr) Complete(*gpu, facts);
  facts.limits = FindGpuLimits(!device.compute_capability.empty() ? device.compute_capability
                               : gpu != nullptr                   ? gpu->compute_capability
                                                                  : std::string_view());
  if (facts.limits) TakeRecorded(device, *facts.limits);
  const bool fake = device.name.find("fake GPU") != std::string::npos;
  if (gpu != nullptr || fake) return facts;
  facts.memory_bandwidth_bytes_per_s = device.memory_bandwidth_bytes_per_s.value_or(0);
  if (facts.sm_count > 0 && facts.clock_hz > 0) {
    facts.peaks =
        PeaksByFormula(device.compute_capability, facts.sm_count, facts.clock_hz, device.name);
    facts.peaks_by_formula = facts.peaks.has_value();
  }
  return facts;
}

std::vector<DeviceFacts> FactsOfDevices(const std::vector<model::Device>& devices) {
  std::vector<DeviceFacts> facts;
  facts.reserve(devices.size());
  for (const model::Device& device : devices) facts.push_back(FactsOf(device));
  // A profiler that gives no product name does not give all figures of each device either. Devices
  // of a run are the same GPU unless their figures differ.
  for (size_t i = 0; i < devices.size(); ++i) {
    if (facts[i].gpu != nullptr || !HasGenericName(devices[i])) continue;
    const Gpu* alike = nullptr;
    bool several = false;
    for (size_t k = 0; k < devices.size(); ++k) {
      const Gpu* gpu = facts[k].gpu;
      if (gpu == nullptr || !MayBe(*gpu, devices[k], devices[i])) continue;
      several = several || (alike != nullptr && alike != gpu);
      alike = gpu;
    }
    if (alike == nullptr || several) continue;
    model::Device named = devices[i];
    named.name = std::string(alike->name);
    facts[i] = FactsOf(named);
  }
  return facts;
}

DeviceFacts FactsOf(const Gpu& gpu) {
  DeviceFacts facts;
  Complete(gpu, facts);
  facts.limits = FindGpuLimits(gpu.compute_capability);
  return facts;
}

model::DeviceFactsRow RowOf(const DeviceFacts& facts) {
  model::DeviceFactsRow row;
  if (facts.gpu != nullptr) {
    row.gpu = facts.gpu->name;
    row.compute_capability = facts.gpu->compute_capability;
    row.memory_bytes = facts.gpu->memory_bytes;
  }
  if (facts.peaks) {
    row.peaks_source = facts.peaks_by_formula ? "formula" : "table";
    row.peak_flops = PeaksJson(*facts.peaks);
  }
  row.sm_count = Known(facts.sm_count);
  row.clock_hz = Known(facts.clock_hz);
  row.memory_bandwidth_bytes_per_s = Known(facts.memory_bandwidth_bytes_per_s);
  row.l2_bytes = Known(facts.l2_bytes);
  row.host_link_bytes_per_s = Known(facts.host_link_bytes_per_s);
  row.peer_link_bytes_per_s = Known(facts.peer_link_bytes_per_s);
  if (facts.limits) {
    const GpuLimits& limits = *facts.limits;
    row.max_threads_per_sm = limits.threads_per_sm;
    row.max_blocks_per_sm = limits.blocks_per_sm;
    row.registers_per_sm = limits.registers_per_sm;
    row.registers_per_block = limits.registers_per_block;
    row.shared_memory_per_sm_bytes = limits.shared_memory_per_sm_bytes;
    row.shared_memory_per_block_bytes = limits.shared_memory_per_block_bytes;
    row.shared_memory_per_block_optin_bytes = limits.shared_memory_per_block_optin_bytes;
    row.shared_memory_reserved_per_block_bytes = limits.shared_memory_reserved_per_block_bytes;
    row.max_threads_per_block = limits.threads_per_block;
    row.warp_size = limits.warp_size;
  }
  return row;
}

}  // namespace xlatrace::analysis
