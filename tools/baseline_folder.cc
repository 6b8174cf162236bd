// SPDX-License-Identifier: Apache-2.0
#include "tools/baseline_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/file.h"

namespace xlatrace::tools {
namespace {

constexpr uint64_t kMaxBaselineBytes = 256u << 20;

std::string FileOf(const std::string& folder) { return folder + "/baseline.jsonl"; }

// Closed with the object.
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

tl::unexpected<Error> SystemError(std::string_view doing, const std::string& path) {
  return MakeError(fmt::format("{} '{}': {}", doing, path, std::strerror(errno)));
}

}  // namespace

Result<Baseline> ReadBaseline(const std::string& folder) {
  Baseline baseline;
  if (!Exists(FileOf(folder))) {
    if (Exists(folder) && !IsDirectory(folder)) {
      return MakeError(fmt::format("'{}' is no folder", folder), "name a folder: --baseline DIR",
                       ErrorCode::kUsage);
    }
    return baseline;
  }
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(FileOf(folder), error);
  if (!error && size > kMaxBaselineBytes) {
    return MakeError(fmt::format("'{}' is larger than a baseline can be", FileOf(folder)));
  }
  XLATRACE_ASSIGN(const std::string text, ReadFile(FileOf(folder)));
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (line.empty()) continue;
    auto record = compare::ParseRecord(line);
    if (record) {
      baseline.records.push_back(std::move(*record));
    } else {
      ++baseline.skipped_lines;
    }
  }
  return baseline;
}

std::vector<compare::RunRecord> Baseline::Current() const {
  size_t first = 0;
  for (size_t i = 0; i < records.size(); ++i) {
    if (!records[i].accepted.empty()) first = i;
  }
  return {records.begin() + static_cast<ptrdiff_t>(first), records.end()};
}

Status AppendToBaseline(const std::string& folder, const compare::RunRecord& record) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return MakeError(fmt::format("making '{}': {}", folder, error.message()));
  const std::string lock_path = folder + "/lock";
  const Descriptor lock(open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (lock.get() < 0) return SystemError("opening", lock_path);
  while (flock(lock.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return SystemError("locking", lock_path);
  }
  XLATRACE_ASSIGN(const Baseline known, ReadBaseline(folder));
  const std::vector<compare::RunRecord> current = known.Current();
  const bool there = std::any_of(current.begin(), current.end(), [&](const auto& other) {
    return !record.content_id.empty() && other.content_id == record.content_id;
  });
  if (there && record.accepted.empty()) return {};
  const std::string path = FileOf(folder);
  const Descriptor file(open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
  if (file.get() < 0) return SystemError("opening", path);
  std::string line = compare::RecordText(record) + "\n";
  // Behind a line that was cut short a new one begins.
  struct stat status = {};
  char last = '\n';
  if (fstat(file.get(), &status) == 0 && status.st_size > 0 &&
      pread(file.get(), &last, 1, status.st_size - 1) == 1 && last != '\n') {
    line.insert(0, "\n");
  }
  size_t done = 0;
  while (done < line.size()) {
    const ssize_t written = write(file.get(), line.data() + done, line.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError("writing", path);
    done += static_cast<size_t>(written);
  }
  if (fsync(file.get()) != 0 && errno != EINVAL && errno != ENOSYS) {
    return SystemError("writing", path);
  }
  return {};
}

}  // namespace xlatrace::tools
