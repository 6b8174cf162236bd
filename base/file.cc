// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/abandoned_files.h"
#include "base/shell_word.h"

namespace xlatrace {
namespace {

constexpr size_t kFlushBytes = 1 << 18;

// Slots for a signal handler: a path is published last and withdrawn first.
struct TemporarySlot {
  std::atomic<bool> used{false};
  std::atomic<bool> ready{false};
  std::array<char, 4096> path{};
};
// Exports into a folder have a slot per file: one per module or rank.
std::array<TemporarySlot, 1024> temporary_slots;

std::string ErrnoText() { return std::strerror(errno); }

tl::unexpected<Error> OpenError(const std::string& path) {
  const int error = errno;
  std::string hint;
  if (error == ENOENT) hint = "check the path: ls -l " + ShellWord(path);
  if (error == EACCES) hint = "you may not read it: ls -l " + ShellWord(path);
  if (error == ELOOP) hint = "a link there leads back to itself: ls -l " + ShellWord(path);
  return MakeError(fmt::format("cannot open '{}': {}", path, std::strerror(error)),
                   std::move(hint));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

// O_NONBLOCK so that opening a FIFO does not block; regular files ignore it.
Result<int> OpenRegular(const std::string& path, uint64_t* size) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return OpenError(path);
  struct stat info {};
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(fd);
    if (S_ISDIR(info.st_mode)) return MakeError(fmt::format("'{}' is a directory", path));
    std::string hint;
    if (S_ISFIFO(info.st_mode)) {
      hint =
          fmt::format("copy what comes out of it to a file first: cat {} >FILE", ShellWord(path));
    }
    return MakeError(fmt::format("'{}' is not a regular file", path), std::move(hint));
  }
  *size = static_cast<uint64_t>(info.st_size);
  return fd;
}

Result<std::string> ReadUpTo(const std::string& path, int fd, size_t want) {
  std::string bytes(want, '\0');
  size_t at = 0;
  while (at < want) {
    const ssize_t got = read(fd, bytes.data() + at, want - at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return MakeError(fmt::format("reading '{}': {}", path, ErrnoText()));
    if (got == 0) break;  // The file was truncated meanwhile: return the bytes read so far.
    at += static_cast<size_t>(got);
  }
  bytes.resize(at);
  return bytes;
}

}  // namespace

Result<std::string> ReadFile(const std::string& path, uint64_t max_bytes) {
  uint64_t size = 0;
  XLATRACE_ASSIGN(const int fd, OpenRegular(path, &size));
  const Descriptor descriptor(fd);
  if (size > max_bytes) {
    return MakeError(
        fmt::format("'{}' has {} bytes, more than the {} that are read", path, size, max_bytes));
  }
  return ReadUpTo(path, fd, static_cast<size_t>(size));
}

Result<std::string> ReadFileHead(const std::string& path, size_t count) {
  uint64_t size = 0;
  XLATRACE_ASSIGN(const int fd, OpenRegular(path, &size));
  const Descriptor descriptor(fd);
  return ReadUpTo(path, fd, std::min<uint64_t>(count, size));
}

bool Exists(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0;
}

bool IsDirectory(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool IsRegularFile(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

bool IsSameFile(const std::string& a, const std::string& b) {
  struct stat first {};
  struct stat second {};
  return stat(a.c_str(), &first) == 0 && stat(b.c_str(), &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

Status CheckOutputPath(const std::string& path, bool force) {
  if (path.empty()) return MakeError("the output path is empty", "-o FILE", ErrorCode::kUsage);
  if (IsDirectory(path)) {
    return MakeError(fmt::format("output '{}' is a directory", path),
                     "give a file: -o " + ShellWord(path + "/run.db"), ErrorCode::kUsage);
  }
  struct stat info {};
  if (stat(path.c_str(), &info) != 0 && errno == ELOOP) {
    return MakeError(fmt::format("cannot write '{}': {}", path, ErrnoText()),
                     "another name with -o FILE", ErrorCode::kUsage);
  }
  if (Exists(path) && !IsRegularFile(path)) {
    return MakeError(fmt::format("output '{}' is not a regular file", path), "-o FILE",
                     ErrorCode::kUsage);
  }
  if (Exists(path) && !force) {
    return MakeError(fmt::format("output '{}' exists already", path),
                     "another name with -o FILE, or --force to replace it", ErrorCode::kUsage);
  }
  const size_t slash = path.rfind('/');
  const std::string folder =
      slash == std::string::npos ? "." : (slash == 0 ? "/" : path.substr(0, slash));
  if (!IsDirectory(folder)) {
    return MakeError(fmt::format("cannot write '{}': there is no folder '{}'", path, folder),
                     "mkdir -p " + ShellWord(folder));
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    return MakeError(fmt::format("cannot write '{}': {}", path, ErrnoText()),
                     "name a place you may write to with -o FILE");
  }
  return {};
}

Result<AtomicFile> AtomicFile::Create(const std::string& path) {
  RemoveAbandonedFiles(path);
  std::string temporary = fmt::format("{}.tmp.{}", path, getpid());
  // Register before the file exists, because a signal may come at any time.
  RegisterTemporaryFile(temporary);
  // Always a new file. An existing file under this name (a link to a foreign file, a FIFO) is
  // removed, and never written to.
  int fd = -1;
  for (int i = 0; i < 3 && fd < 0; ++i) {
    fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 || errno != EEXIST || unlink(temporary.c_str()) != 0) break;
  }
  if (fd < 0) {
    const std::string reason = ErrnoText();
    UnregisterTemporaryFile(temporary);
    return MakeError(fmt::format("cannot write '{}': {}", path, reason),
                     "name a place you may write to with -o FILE");
  }
  return AtomicFile(path, std::move(temporary), fd);
}

AtomicFile::AtomicFile(std::string path, std::string temporary, int fd)
    : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      buffer_(std::move(other.buffer_)),
      fd_(std::exchange(other.fd_, -1)) {}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  close(fd_);
  unlink(temporary_.c_str());
  UnregisterTemporaryFile(temporary_);
}

Status AtomicFile::Append(std::string_view bytes) {
  buffer_.append(bytes);
  return buffer_.size() >= kFlushBytes ? Flush() : Status();
}

Status AtomicFile::Flush() {
  size_t at = 0;
  while (at < buffer_.size()) {
    const ssize_t put = write(fd_, buffer_.data() + at, buffer_.size() - at);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      return MakeError(fmt::format("writing '{}': {}", path_, ErrnoText()),
                       errno == ENOSPC ? "free some space or name another place with -o FILE" : "");
    }
    at += static_cast<size_t>(put);
  }
  buffer_.clear();
  return {};
}

Status AtomicFile::Commit() {
  XLATRACE_TRY(Flush());
  const mode_t mask = umask(0);
  umask(mask);
  fchmod(fd_, 0666 & ~mask);
  const bool closed = close(std::exchange(fd_, -1)) == 0;
  const bool renamed = closed && rename(temporary_.c_str(), path_.c_str()) == 0;
  const std::string reason = ErrnoText();
  if (!renamed) unlink(temporary_.c_str());
  UnregisterTemporaryFile(temporary_);
  if (!renamed) return MakeError(fmt::format("writing '{}': {}", path_, reason));
  return {};
}

void RegisterTemporaryFile(const std::string& path) {
  for (TemporarySlot& slot : temporary_slots) {
    if (path.size() >= slot.path.size() || slot.used.exchange(true)) continue;
    std::memcpy(slot.path.data(), path.c_str(), path.size() + 1);
    slot.ready.store(true);
    return;
  }
}

void UnregisterTemporaryFile(const std::string& path) {
  for (TemporarySlot& slot : temporary_slots) {
    if (!slot.ready.load() || path != slot.path.data()) continue;
    slot.ready.store(false);
    slot.used.store(false);
    return;
  }
}

void RemoveTemporaryFilesOnSignal() {
  for (TemporarySlot& slot : temporary_slots) {
    if (slot.ready.load()) unlink(slot.path.data());
  }
  // Folders, which are empty now.
  for (TemporarySlot& slot : temporary_slots) {
    if (slot.ready.load()) rmdir(slot.path.data());
  }
}

}  // namespace xlatrace
