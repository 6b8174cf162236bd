// SPDX-License-Identifier: Apache-2.0
#include "export/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

namespace xlatrace::exporter {

namespace fs = std::filesystem;

Result<OutputFolder> OutputFolder::Create(const std::string& path, bool force) {
  std::string plain = path;
  while (plain.size() > 1 && plain.back() == '/') plain.pop_back();
  std::error_code error;
  if (Exists(plain) && !IsDirectory(plain)) {
    return MakeError(fmt::format("output '{}' is a file; this format is a folder of files", plain),
                     "-o FOLDER", ErrorCode::kUsage);
  }
  if (IsDirectory(plain) && !force && !fs::is_empty(plain, error)) {
    return MakeError(fmt::format("output '{}' exists already", plain),
                     "another name with -o FOLDER, or --force to replace the files in it",
                     ErrorCode::kUsage);
  }
  std::string temporary = fmt::format("{}.tmp.{}", plain, getpid());
  RegisterTemporaryFile(temporary);  // Before it is there: a signal may come at any instant.
  if (mkdir(temporary.c_str(), 0700) != 0) {
    const std::string reason = std::strerror(errno);
    UnregisterTemporaryFile(temporary);
    return MakeError(fmt::format("cannot write '{}': {}", plain, reason),
                     "name a place you may write to with -o FOLDER");
  }
  return OutputFolder(std::move(plain), std::move(temporary));
}

OutputFolder::OutputFolder(OutputFolder&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      names_(std::move(other.names_)) {}

OutputFolder::~OutputFolder() {
  if (temporary_.empty()) return;
  for (const std::string& name : names_) {
    unlink((temporary_ + "/" + name).c_str());
    UnregisterTemporaryFile(temporary_ + "/" + name);
  }
  rmdir(temporary_.c_str());
  UnregisterTemporaryFile(temporary_);
}

Result<AtomicFile> OutputFolder::Open(const std::string& name) {
  return AtomicFile::Create(temporary_ + "/" + name);
}

Status OutputFolder::Close(AtomicFile file) {
  const std::string temporary = file.temporary_path();
  const std::string path = temporary.substr(0, temporary.rfind(".tmp."));
  RegisterTemporaryFile(path);  // Until the folder is in its place.
  if (Status written = file.Commit(); !written) {
    UnregisterTemporaryFile(path);
    return written;
  }
  names_.push_back(path.substr(path.rfind('/') + 1));
  return {};
}

Status OutputFolder::Commit() {
  const mode_t mask = umask(0);
  umask(mask);
  chmod(temporary_.c_str(), 0777 & ~mask);
  rmdir(path_.c_str());  // An empty one.
  bool renamed = rename(temporary_.c_str(), path_.c_str()) == 0;
  if (!renamed && IsDirectory(path_)) {
    renamed = true;
    for (const std::string& name : names_) {
      renamed =
          renamed && rename((temporary_ + "/" + name).c_str(), (path_ + "/" + name).c_str()) == 0;
    }
    if (renamed) rmdir(temporary_.c_str());
  }
  if (!renamed) {
    return MakeError(fmt::format("writing '{}': {}", path_, std::strerror(errno)));
  }
  for (const std::string& name : names_) UnregisterTemporaryFile(temporary_ + "/" + name);
  UnregisterTemporaryFile(temporary_);
  temporary_.clear();
  return {};
}

}  // namespace xlatrace::exporter
