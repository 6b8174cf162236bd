// SPDX-License-Identifier: Apache-2.0

// Appends blocks of rows to `host.samples` (recording/host_samples.md).
//
// Thread-safety: one thread.

#ifndef XLATRACE_COLLECTOR_STACKS_SAMPLE_FILE_H_
#define XLATRACE_COLLECTOR_STACKS_SAMPLE_FILE_H_

#include <cstdint>
#include <string>

#include "recording/host_rows.h"
#include "recording/varint.h"

namespace xlatrace::collector {

class SampleFile {
 public:
  SampleFile() = default;
  SampleFile(std::string path, uint64_t max_bytes)
      : path_(std::move(path)), max_bytes_(max_bytes) {}

  // The rows of the next block, counted by the caller.
  recording::Encoder& rows() { return rows_; }
  void Begin(recording::HostRow row) {
    rows_.Number(static_cast<uint64_t>(row));
    ++count_;
  }
  void AddEncoded(const recording::Encoder& encoded, uint32_t count);

  // Writes the rows. False if the file cannot be written or is full; later calls then do nothing.
  bool Flush();

 private:
  std::string path_;
  uint64_t max_bytes_ = 0;
  uint64_t bytes_ = 0;
  uint64_t sequence_ = 0;
  bool failed_ = false;
  recording::Encoder rows_;
  uint32_t count_ = 0;
};

}  // namespace xlatrace::collector

#endif  // XLATRACE_COLLECTOR_STACKS_SAMPLE_FILE_H_
