// SPDX-License-Identifier: Apache-2.0

// Reads gpu_target_config.pbtxt: the GPU that XLA compiled for.
//
// Input: stream_executor.GpuTargetConfigProto in text format, of any year, as XLA dumps it or as
// users give it to --xla_gpu_target_config_filename. Missing fields keep their "unknown".
// Thread-safety: pure. Source: xla/stream_executor/device_description.proto.

#ifndef XLATRACE_HLO_ARTEFACTS_TARGET_CONFIG_H_
#define XLATRACE_HLO_ARTEFACTS_TARGET_CONFIG_H_

#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"

namespace xlatrace::hlo {

// -1 (or empty): not in the file.
struct TargetConfig {
  std::string description;         // "NVIDIA H100 80GB HBM3".
  std::string platform;            // "CUDA", "ROCM".
  std::string compute_capability;  // "9.0", "9.0a", "gfx942:sramecc+:xnack-".
  int64_t core_count = -1;         // Multiprocessors, compute units.
  int64_t fpus_per_core = -1;
  int64_t threads_per_warp = -1;
  int64_t threads_per_block_limit = -1;
  int64_t threads_per_core_limit = -1;
  int64_t shared_memory_per_core_bytes = -1;
  int64_t shared_memory_per_block_bytes = -1;
  int64_t shared_memory_per_block_optin_bytes = -1;
  int64_t registers_per_core = -1;
  int64_t registers_per_block = -1;
  int64_t l2_cache_bytes = -1;
  int64_t device_memory_bytes = -1;
  int64_t memory_bandwidth_bytes_per_s = -1;
  int64_t clock_hz = -1;
  std::string dnn_version;      // "9.10.0"; of cuDNN or MIOpen.
  std::string driver_version;   // Unchanged text of the file.
  std::string runtime_version;  // "13.0.0".
};

// An error names the place of damage, or states that the text is no target config.
Result<TargetConfig> ReadTargetConfig(std::shared_ptr<const std::string> text);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_ARTEFACTS_TARGET_CONFIG_H_
