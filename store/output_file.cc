// SPDX-License-Identifier: Apache-2.0
#include "store/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/abandoned_files.h"
#include "base/file.h"

namespace xlatrace::store {
namespace {

// Creates a new file. An existing file under this name (a link to a foreign file, a FIFO) is
// removed, and never written to.
bool MakeNew(const std::string& path) {
  for (int i = 0; i < 3; ++i) {
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd >= 0) close(fd);
    if (fd >= 0 || errno != EEXIST) return fd >= 0;
    if (unlink(path.c_str()) != 0 && errno != ENOENT) return false;
  }
  return false;
}

// Renames `temporary` to `path`. Without `replace`: EEXIST if `path` exists.
bool Rename(const std::string& temporary, const std::string& path, bool replace) {
  if (replace) return std::rename(temporary.c_str(), path.c_str()) == 0;
  if (renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) {
    return true;
  }
  if (errno == EEXIST) return false;
  // File systems without this operation may have links.
  if (link(temporary.c_str(), path.c_str()) == 0) {
    unlink(temporary.c_str());
    return true;
  }
  return errno != EEXIST && std::rename(temporary.c_str(), path.c_str()) == 0;
}

}  // namespace

tl::unexpected<Error> CannotWrite(const std::string& path, const std::string& why) {
  return MakeError(fmt::format("cannot write '{}': {}", path, why),
                   "name a place you may write to with -o FILE");
}

OutputFile::OutputFile(std::string path, bool replace)
    : path_(std::move(path)),
      temporary_(fmt::format("{}.tmp.{}", path_, getpid())),
      replace_(replace) {
  RegisterTemporaryFile(temporary_);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      replace_(other.replace_) {}

OutputFile::~OutputFile() {
  if (temporary_.empty()) return;
  std::remove(temporary_.c_str());
  UnregisterTemporaryFile(temporary_);
}

Result<OutputFile> OutputFile::Create(const std::string& path, bool replace) {
  RemoveAbandonedFiles(path);
  OutputFile file(path, replace);
  if (MakeNew(file.temporary_)) return file;
  const std::string reason = std::strerror(errno);
  UnregisterTemporaryFile(file.temporary_);
  file.temporary_.clear();
  return CannotWrite(path, reason);
}

Status OutputFile::Place() {
  if (!Rename(temporary_, path_, replace_)) {
    if (!replace_ && errno == EEXIST) {
      return MakeError(
          fmt::format("output '{}' exists already: it came while this was written", path_),
          "another name with -o FILE, or --force to replace it", ErrorCode::kUsage);
    }
    return CannotWrite(path_, std::strerror(errno));
  }
  UnregisterTemporaryFile(temporary_);
  temporary_.clear();
  return {};
}

}  // namespace xlatrace::store
