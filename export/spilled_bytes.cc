// SPDX-License-Identifier: Apache-2.0
#include "export/spilled_bytes.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace xlatrace::exporter {
namespace {

constexpr size_t kInMemoryBytes = size_t{1} << 20;

}  // namespace

SpilledBytes::SpilledBytes(SpilledBytes&& other) noexcept
    : beside_(std::move(other.beside_)),
      buffer_(std::move(other.buffer_)),
      size_(other.size_),
      fd_(std::exchange(other.fd_, -1)) {}

SpilledBytes::~SpilledBytes() {
  if (fd_ >= 0) close(fd_);
}

Status SpilledBytes::Append(std::string_view bytes) {
  buffer_ += bytes;
  size_ += bytes.size();
  return buffer_.size() < kInMemoryBytes ? Status() : Spill();
}

Status SpilledBytes::Spill() {
  if (fd_ < 0) {
    std::string path = beside_ + ".spill.XXXXXX";
    fd_ = mkostemp(path.data(), O_CLOEXEC);
    if (fd_ >= 0) unlink(path.c_str());
  }
  size_t at = 0;
  while (fd_ >= 0 && at < buffer_.size()) {
    const ssize_t put = write(fd_, buffer_.data() + at, buffer_.size() - at);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) break;
    at += static_cast<size_t>(put);
  }
  if (at < buffer_.size()) {
    return MakeError(fmt::format("writing beside '{}': {}", beside_, std::strerror(errno)),
                     errno == ENOSPC ? "free some space or name another place with -o FILE" : "");
  }
  buffer_.clear();
  return {};
}

Status SpilledBytes::Give(const std::function<Status(std::string_view)>& out) {
  if (fd_ >= 0) {
    if (lseek(fd_, 0, SEEK_SET) != 0) {
      return MakeError(fmt::format("reading beside '{}': {}", beside_, std::strerror(errno)));
    }
    std::string piece(kInMemoryBytes, '\0');
    while (true) {
      const ssize_t got = read(fd_, piece.data(), piece.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) {
        return MakeError(fmt::format("reading beside '{}': {}", beside_, std::strerror(errno)));
      }
      if (got == 0) break;
      XLATRACE_TRY(out(std::string_view(piece).substr(0, static_cast<size_t>(got))));
    }
  }
  return out(buffer_);
}

}  // namespace xlatrace::exporter
