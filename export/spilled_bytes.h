// SPDX-License-Identifier: Apache-2.0

// Collects bytes whose number must be known before they are written (messages inside messages). The
// first megabyte is in memory, the others in a file without a name.
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
  // `beside`: path of the output; its disk must have enough space anyway.
  explicit SpilledBytes(std::string beside) : beside_(std::move(beside)) {}
  SpilledBytes(SpilledBytes&& other) noexcept;
  SpilledBytes& operator=(SpilledBytes&&) = delete;
  ~SpilledBytes();

  Status Append(std::string_view bytes);
  uint64_t size() const { return size_; }
  // All of it, in pieces and in order. Once.
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
