// SPDX-License-Identifier: Apache-2.0
#include "collector/stacks/sample_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace xlatrace::collector {
namespace {

bool WriteAll(int fd, const uint8_t* data, size_t size) {
  while (size > 0) {
    const ssize_t written = write(fd, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    data += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

}  // namespace

void SampleFile::AddEncoded(const recording::Encoder& encoded, uint32_t count) {
  rows_.Bytes(encoded.data(), encoded.size());
  count_ += count;
}

bool SampleFile::Flush() {
  if (failed_ || count_ == 0) return !failed_;
  recording::BlockHeader header;
  header.type = recording::kHostSamplesBlock;
  header.payload_bytes = static_cast<uint32_t>(rows_.size());
  header.rows = count_;
  header.sequence = sequence_++;
  header.checksum = recording::BlockChecksum(header, rows_.data());
  recording::Encoder block;
  block.Bytes(reinterpret_cast<const uint8_t*>(&header), sizeof(header));
  block.Bytes(rows_.data(), rows_.size());
  bytes_ += block.size();
  rows_.Clear();
  count_ = 0;
  failed_ = bytes_ > max_bytes_ || header.payload_bytes > recording::kMaxPayloadBytes;
  if (failed_) return false;
  // Opened each time: a program that closes all descriptors cannot hit this one.
  const int fd = open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  failed_ = fd < 0 || !WriteAll(fd, block.data(), block.size());
  if (fd >= 0) close(fd);
  return !failed_;
}

}  // namespace xlatrace::collector
