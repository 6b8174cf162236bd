// SPDX-License-Identifier: Apache-2.0

// Any bytes as a recording file. Every second input gets the checksums it should have, so that what
// is behind them is reached.

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <sys/mman.h>

#include "recording/format.h"
#include "recording/reader.h"

namespace {

using namespace xlatrace::recording;  // NOLINT

void RepairChecksums(std::vector<uint8_t>* bytes) {
  size_t at = 0;
  uint64_t sequence = 0;
  while (at + sizeof(BlockHeader) <= bytes->size()) {
    BlockHeader header;
    std::memcpy(&header, bytes->data() + at, sizeof(header));
    header.magic = kBlockMagic;
    header.sequence = sequence++;
    const size_t room = bytes->size() - at - sizeof(header);
    if (header.payload_bytes > room) header.payload_bytes = static_cast<uint32_t>(room);
    header.checksum = BlockChecksum(header, bytes->data() + at + sizeof(header));
    std::memcpy(bytes->data() + at, &header, sizeof(header));
    at += sizeof(header) + header.payload_bytes;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::vector<uint8_t> bytes(data + 1, data + size);
  if ((data[0] & 1) != 0) RepairChecksums(&bytes);
  const int fd = memfd_create("recording", MFD_CLOEXEC);
  if (fd < 0) std::abort();
  if (write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
  RowSink sink;
  const auto outcome = ReadRecording("/proc/self/fd/" + std::to_string(fd), sink);
  if (outcome && outcome->bytes_read > bytes.size()) std::abort();
  close(fd);
  return 0;
}
