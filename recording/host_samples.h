// SPDX-License-Identifier: Apache-2.0

// Sampled Python stacks of a process and the CPU use of its threads: `host.samples` in the
// process's folder. recording/host_samples.md describes the file; collector/stacks writes it.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_RECORDING_HOST_SAMPLES_H_
#define XLATRACE_RECORDING_HOST_SAMPLES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "model/host_sample.h"

namespace xlatrace::recording {

struct HostSamples {
  int64_t pid = 0;
  model::HostSampleTables tables;
  int64_t own_cost_ns = 0;
  uint64_t lost_bytes = 0;  // After the last valid block.
};

// Fails if the file cannot be read or is not such a file. A file that ends in the middle of a block
// gives the rows before.
Result<HostSamples> ReadHostSamples(const std::string& path);
Result<HostSamples> ParseHostSamples(std::string_view bytes);

}  // namespace xlatrace::recording

#endif  // XLATRACE_RECORDING_HOST_SAMPLES_H_
