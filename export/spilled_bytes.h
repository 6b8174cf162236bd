// SPDX-License-Identifier: Apache-2.0

// Collects bytes whose number must be known before they are written (nested messages). The first
// megabyte is in memory, the remainder in an unnamed file.
//
// Thread-safety: one thread.

#ifndef XLATRACE_EXPORT_SPILLED_BYTES_H_
#define XLATRACE_EXPORT_SPILLED_BYTES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace xlatrace::exporter {

class SpilledBytes {
 public:
  // `beside`: path of the output, whose disk needs enough space anyway.
  explicit SpilledBytes(std::string beside) : beside_(std::move(beside)) {}
  SpilledBytes(SpilledBytes&& other) noexcept;
  SpilledBytes& operator=(SpilledBytes&&) = delete;
  ~SpilledBytes();

  Status Append(std::string_view bytes);
  uint64_t size() const { return size_; }
  // Returns all bytes, in pieces and in order. Call it once.
  Status Give(const std::function<Status(std::string_view)>& out);

 private:
  Status Spill();

  std::string beside_;
  std::string buffer_;
  uint64_t size_ = 0;
  int fd_ = -1;
};

}  // namespace xlatrace::exporter

#endif  // XLATRACE_EXPORT_SPILLED_BYTES_H_
