// SPDX-License-Identifier: Apache-2.0
#include "base/byte_source.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/compress.h"
#include "base/file.h"
#include "base/inflate_stream.h"

namespace xlatrace {
namespace {

constexpr size_t kBlock = 1 << 20;

// An unnamed file; -1 if no folder supports it.
int OpenNameless() {
  const char* told = std::getenv("TMPDIR");
  for (const char* folder : {told != nullptr ? told : "/var/tmp", "/var/tmp", "/tmp"}) {
    const int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0) return fd;
  }
  return -1;
}

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return true;
}

}  // namespace

Result<ByteSource> ByteSource::Open(const std::string& path, size_t held_bytes) {
  XLATRACE_ASSIGN(const std::string head, ReadFileHead(path, 16));  // Regular files only.
  if (LooksCompressed(head)) return Inflated(path, held_bytes);
  ByteSource source;
  source.fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat info {};
  if (source.fd_ < 0 || fstat(source.fd_, &info) != 0 || !S_ISREG(info.st_mode)) {
    return MakeError(fmt::format("'{}' cannot be read any more", path), "look at it: ls -l");
  }
  source.size_ = static_cast<uint64_t>(info.st_size);
  return source;
}

Result<ByteSource> ByteSource::Inflated(const std::string& path, size_t held_bytes) {
  XLATRACE_ASSIGN(InflateStream stream, InflateStream::Open(path));
  ByteSource source;
  source.owns_bytes_ = true;
  std::string& bytes = source.own_;
  bool may_spill = true;
  for (;;) {
    const size_t held = bytes.size();
    bytes.resize(held + kBlock);
    XLATRACE_ASSIGN(const size_t got, stream.Read(bytes.data() + held, kBlock));
    bytes.resize(held + got);
    source.size_ += got;
    if (source.fd_ < 0 && may_spill && bytes.size() > held_bytes) {
      source.fd_ = OpenNameless();
      may_spill = source.fd_ >= 0;
    }
    if (source.fd_ >= 0 && (got == 0 || bytes.size() >= kBlock)) {
      if (!WriteAll(source.fd_, bytes)) {
        // The disk is full: inflate into memory after all, from the start.
        close(std::exchange(source.fd_, -1));
        XLATRACE_ASSIGN(bytes, ReadFileInflated(path));
        source.size_ = bytes.size();
        break;
      }
      bytes.clear();
    }
    if (got == 0) break;
  }
  if (source.fd_ >= 0) {
    source.own_ = std::string();
    source.owns_bytes_ = false;
  }
  return source;
}

ByteSource ByteSource::OfBytes(std::string_view bytes) {
  ByteSource source;
  source.bytes_ = bytes;
  source.size_ = bytes.size();
  return source;
}

ByteSource::ByteSource(ByteSource&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      own_(std::move(other.own_)),
      bytes_(other.bytes_),
      owns_bytes_(other.owns_bytes_),
      size_(other.size_) {}

ByteSource::~ByteSource() {
  if (fd_ >= 0) close(fd_);
}

size_t ByteSource::ReadAt(uint64_t offset, char* buffer, size_t count) const {
  if (offset >= size_) return 0;
  count = static_cast<size_t>(std::min<uint64_t>(count, size_ - offset));
  if (fd_ < 0) return (owns_bytes_ ? std::string_view(own_) : bytes_).copy(buffer, count, offset);
  size_t at = 0;
  while (at < count) {
    const ssize_t got = pread(fd_, buffer + at, count - at, static_cast<off_t>(offset + at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    at += static_cast<size_t>(got);
  }
  return at;
}

}  // namespace xlatrace
