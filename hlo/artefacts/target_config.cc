// SPDX-License-Identifier: Apache-2.0
#include "hlo/artefacts/target_config.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "hlo/proto/text_proto.h"

namespace xlatrace::hlo {
namespace {

// {major: 9 minor: 10}; zeros are not printed.
std::string VersionText(const TextMessage& version) {
  if (version.empty()) return {};
  return fmt::format("{}.{}.{}", version.Int("major"), version.Int("minor"), version.Int("patch"));
}

std::string Capability(const TextMessage& device) {
  if (const TextMessage cuda = device.Message("cuda_compute_capability"); !cuda.empty()) {
    const std::string_view extension = cuda.Text("feature_extension");
    const std::string_view letter = extension == "ACCELERATED_FEATURES"         ? "a"
                                    : extension == "FAMILY_COMPATIBLE_FEATURES" ? "f"
                                                                                : "";
    return fmt::format("{}.{}{}", cuda.Int("major"), cuda.Int("minor"), letter);
  }
  return std::string(device.Message("rocm_compute_capability").Text("gcn_arch_name"));
}

}  // namespace

Result<TargetConfig> ReadTargetConfig(std::shared_ptr<const std::string> text) {
  XLATRACE_ASSIGN(const TextProto proto, TextProto::Read(std::move(text)));
  const TextMessage root = proto.root();
  const TextMessage device = root.Message("gpu_device_info");
  if (device.empty()) {
    return MakeError("no gpu_device_info in it: not a target config",
                     "give a gpu_target_config.pbtxt of an XLA dump");
  }
  TargetConfig config;
  config.description = root.Text("device_description_str");
  if (config.description.empty()) config.description = device.Text("name");
  config.platform = root.Text("platform_name");
  config.compute_capability = Capability(device);
  config.core_count = device.Int("core_count", -1);
  config.fpus_per_core = device.Int("fpus_per_core", -1);
  config.threads_per_warp = device.Int("threads_per_warp", -1);
  config.threads_per_block_limit = device.Int("threads_per_block_limit", -1);
  config.threads_per_core_limit = device.Int("threads_per_core_limit", -1);
  config.shared_memory_per_core_bytes = device.Int("shared_memory_per_core", -1);
  config.shared_memory_per_block_bytes = device.Int("shared_memory_per_block", -1);
  config.shared_memory_per_block_optin_bytes = device.Int("shared_memory_per_block_optin", -1);
  config.registers_per_core = device.Int("registers_per_core_limit", -1);
  config.registers_per_block = device.Int("registers_per_block_limit", -1);
  config.l2_cache_bytes = device.Int("l2_cache_size", -1);
  config.device_memory_bytes = device.Int("device_memory_size", -1);
  config.memory_bandwidth_bytes_per_s = device.Int("memory_bandwidth", -1);
  const double clock = device.Number("clock_rate_ghz", -1);
  constexpr double kMaxGhz = 1e6;  // Anything real is far below; keeps the number an integer.
  if (clock > 0 && clock < kMaxGhz) config.clock_hz = std::llround(clock * 1e9);
  config.dnn_version = VersionText(root.Message("dnn_version_info"));
  config.driver_version = device.Text("driver_version");
  config.runtime_version = VersionText(root.Message("runtime_version"));
  if (config.runtime_version.empty()) config.runtime_version = device.Text("runtime_version");
  return config;
}

}  // namespace xlatrace::hlo
