// SPDX-License-Identifier: Apache-2.0

// Rows of host samples, behind a valid header, because no fuzzer finds a checksum.

#include "tests/recording/fuzz/host_samples_input.h"

#include <cstdint>
#include <cstdlib>
#include <string>

#include "recording/host_rows.h"
#include "recording/host_samples.h"

namespace xlatrace::recording {

void RunHostSamplesInput(const uint8_t* data, size_t size) {
  BlockHeader header;
  header.type = kHostSamplesBlock;
  header.payload_bytes = static_cast<uint32_t>(size);
  header.checksum = BlockChecksum(header, data);
  std::string file(reinterpret_cast<const char*>(&header), sizeof(header));
  file.append(reinterpret_cast<const char*>(data), size);
  const auto read = ParseHostSamples(file);
  if (!read) return;
  const auto stacks = static_cast<int64_t>(read->tables.stacks.size());
  for (const model::HostSample& sample : read->tables.samples) {
    if (sample.stack_id < 0 || sample.stack_id > stacks || sample.last_ns < sample.time_ns ||
        sample.until_ns < sample.last_ns) {
      abort();
    }
  }
}

}  // namespace xlatrace::recording
