// SPDX-License-Identifier: Apache-2.0
#include "importers/nsys_jax/capture_machine.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "hlo/artefacts/target_config.h"
#include "importers/common/annotation.h"
#include "importers/common/text_fields.h"
#include "importers/nsys_jax/parquet.h"

namespace xlatrace::importers {
namespace {

// XlaLauncher:#global=0,local=0,process=0,slice=0# by thread.
void ReadThreadNames(const CaptureFiles& files, CaptureMachine& machine) {
  const auto file = ParquetFile::Open(files.thread_metadata);
  if (!file) return;
  const auto names = file->Read("Name");
  const auto tids = file->Read("TID");
  if (!names || !tids) return;
  for (size_t i = 0; i < names->texts.size(); ++i) {
    if (!names->Text(i).starts_with("XlaLauncher:#")) continue;
    const Annotation name = ParseAnnotation(names->Text(i));
    if (const auto local = ParseInt(name.Get("local")); local && tids->Number(i)) {
      machine.local_of_thread[*tids->Number(i)] = *local;
    }
    if (const auto rank = ParseInt(name.Get("process"))) machine.rank = rank;
  }
}

// Columns are called ('TARGET_INFO_GPU', 'name'); a row per GPU of the machine.
void ReadDeviceFacts(const CaptureFiles& files, CaptureMachine& machine) {
  const auto file = ParquetFile::Open(files.device_metadata);
  if (!file) return;
  std::map<std::string, ParquetColumn, std::less<>> columns;
  for (const std::string& label : file->columns()) {
    const bool of_gpu = label.find("'TARGET_INFO_GPU'") != std::string::npos;
    const bool of_nvtx = label.find("'TARGET_INFO_NVTX_CUDA_DEVICE'") != std::string::npos;
    const size_t end = label.rfind('\'');
    const size_t start = end == std::string::npos || end == 0 ? end : label.rfind('\'', end - 1);
    std::string name = label;
    if (start != std::string::npos && end > start) name = label.substr(start + 1, end - start - 1);
    if (of_nvtx) name = "nvtx " + name;
    if (!of_gpu && !of_nvtx && name != "cuDevice") continue;
    if (auto column = file->Read(label)) columns.emplace(name, std::move(*column));
  }
  const auto number = [&](std::string_view name, size_t row) -> std::optional<int64_t> {
    const auto it = columns.find(name);
    const auto value = it == columns.end() ? std::nullopt : it->second.Number(row);
    return value && *value > 0 ? value : std::nullopt;
  };
  const auto text = [&](std::string_view name, size_t row) {
    const auto it = columns.find(name);
    return it == columns.end() ? std::string() : std::string(it->second.Text(row));
  };
  for (size_t row = 0; row < static_cast<size_t>(file->rows()); ++row) {
    model::Device device;
    device.name = text("name", row);
    device.uuid = text("uuid", row);
    const auto major = number("computeMajor", row);
    const auto minor = columns.find("computeMinor");
    if (major && minor != columns.end() && minor->second.Number(row)) {
      device.compute_capability = fmt::format("{}.{}", *major, *minor->second.Number(row));
    }
    device.sm_count = number("smCount", row);
    device.clock_hz = number("clockRate", row);
    device.memory_bandwidth_bytes_per_s = number("memoryBandwidth", row);
    device.memory_bytes = number("totalMemory", row);
    device.l2_bytes = number("l2CacheSize", row);
    device.warp_size = number("threadsPerWarp", row);
    if (const auto warps = number("maxWarpsPerSm", row); warps && *warps < 4096) {
      device.max_threads_per_sm = *warps * device.warp_size.value_or(32);
    }
    device.max_blocks_per_sm = number("maxBlocksPerSm", row);
    device.max_threads_per_block = number("maxThreadsPerBlock", row);
    device.registers_per_sm = number("maxRegistersPerSm", row);
    device.registers_per_block = number("maxRegistersPerBlock", row);
    device.shared_memory_per_sm_bytes = number("maxShmemPerSm", row);
    device.shared_memory_per_block_bytes = number("maxShmemPerBlock", row);
    device.shared_memory_per_block_optin_bytes = number("maxShmemPerBlockOptin", row);
    const std::string range = text("nvtx name", row);  // The annotation points into it.
    const Annotation name = ParseAnnotation(range);
    if (const auto rank = ParseInt(name.Get("process"))) machine.rank = rank;
    const auto ordinal = columns.find("cuDevice");
    const auto known = ordinal == columns.end() ? std::nullopt : ordinal->second.Number(row);
    machine.devices.try_emplace(known.value_or(static_cast<int64_t>(row)), device);
  }
}

// Facts about XLA's compilation target, if the machine's own table is missing.
void ReadTargetConfig(const CaptureFiles& files, model::Device& device) {
  if (files.target_config.empty()) return;
  const auto config =
      hlo::ReadTargetConfig(std::make_shared<const std::string>(files.target_config));
  if (!config) return;
  const auto known = [](int64_t value) {
    return value > 0 ? std::optional<int64_t>(value) : std::nullopt;
  };
  device.name = config->description;
  device.compute_capability = config->compute_capability;
  device.sm_count = known(config->core_count);
  device.clock_hz = known(config->clock_hz);
  device.memory_bandwidth_bytes_per_s = known(config->memory_bandwidth_bytes_per_s);
  device.memory_bytes = known(config->device_memory_bytes);
  device.l2_bytes = known(config->l2_cache_bytes);
  device.warp_size = known(config->threads_per_warp);
  device.max_threads_per_sm = known(config->threads_per_core_limit);
  device.max_threads_per_block = known(config->threads_per_block_limit);
  device.registers_per_sm = known(config->registers_per_core);
  device.registers_per_block = known(config->registers_per_block);
  device.shared_memory_per_sm_bytes = known(config->shared_memory_per_core_bytes);
  device.shared_memory_per_block_bytes = known(config->shared_memory_per_block_bytes);
  device.shared_memory_per_block_optin_bytes = known(config->shared_memory_per_block_optin_bytes);
}

}  // namespace

CaptureMachine ReadCaptureMachine(const CaptureFiles& files) {
  CaptureMachine machine;
  ReadThreadNames(files, machine);
  ReadDeviceFacts(files, machine);
  ReadTargetConfig(files, machine.target);
  return machine;
}

const model::Device& CaptureMachine::DeviceOf(int64_t ordinal) const {
  auto facts = devices.find(ordinal);
  // A process that sees one of the machine's GPUs calls it 0; the table may not.
  if (facts == devices.end() && devices.size() == 1) facts = devices.begin();
  return facts == devices.end() ? target : facts->second;
}

}  // namespace xlatrace::importers
