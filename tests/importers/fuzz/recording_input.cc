// SPDX-License-Identifier: Apache-2.0
#include "tests/importers/fuzz/recording_input.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <sys/mman.h>

#include "hlo/text/text_reader.h"
#include "importers/recording/recording_import.h"
#include "recording/format.h"
#include "tests/importers/memory_sink.h"

namespace xlatrace::importers {
namespace {

using recording::BlockHeader;

void RepairChecksums(std::vector<uint8_t>* bytes) {
  size_t at = 0;
  uint64_t sequence = 0;
  while (at + sizeof(BlockHeader) <= bytes->size()) {
    BlockHeader header;
    std::memcpy(&header, bytes->data() + at, sizeof(header));
    header.magic = recording::kBlockMagic;
    header.sequence = sequence++;
    const size_t room = bytes->size() - at - sizeof(header);
    if (header.payload_bytes > room) header.payload_bytes = static_cast<uint32_t>(room);
    header.checksum = BlockChecksum(header, bytes->data() + at + sizeof(header));
    std::memcpy(bytes->data() + at, &header, sizeof(header));
    at += sizeof(header) + header.payload_bytes;
  }
}

void Require(bool promise) {
  if (!promise) std::abort();
}

}  // namespace

void RunRecordingInput(const uint8_t* data, size_t size) {
  if (size == 0) return;
  std::vector<uint8_t> bytes(data + 1, data + size);
  if ((data[0] & 1) != 0) RepairChecksums(&bytes);
  const int fd = memfd_create("recording", MFD_CLOEXEC);
  Require(fd >= 0);
  Require(write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  MemorySink sink;
  const auto outcome = ImportRecording("/proc/self/fd/" + std::to_string(fd), false, sink);
  close(fd);
  if (!outcome) return;
  Require(outcome->activities == static_cast<int64_t>(sink.activities.size()));
  for (const model::Activity& activity : sink.activities) {
    Require(activity.end_ns >= activity.start_ns);
    Require(activity.lane_id >= 1 && static_cast<size_t>(activity.lane_id) <= sink.lanes.size());
    Require(activity.config_id >= 1 &&
            static_cast<size_t>(activity.config_id) <= sink.configs.size());
    Require(activity.hint_id >= 0 && static_cast<size_t>(activity.hint_id) <= sink.hints.size());
    Require(activity.api_call_id >= 0 &&
            static_cast<size_t>(activity.api_call_id) <= sink.calls.size());
  }
  for (const model::Hint& hint : sink.hints) {
    Require(hint.module_id >= 0 && static_cast<size_t>(hint.module_id) <= sink.modules.size());
  }
  // The rebuilt text may be no HLO if the strings were none; reading it must be safe.
  for (const MemorySink::Module& module : sink.modules) {
    (void)hlo::ReadText(std::make_shared<const std::string>(module.bytes));
  }
}

}  // namespace xlatrace::importers
