// SPDX-License-Identifier: Apache-2.0
#include "base/abandoned_files.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace xlatrace {
namespace {

namespace fs = std::filesystem;

// The process in "PID", "PID-journal", "PID-wal" and "PID-shm"; 0: the text is something else.
pid_t ProcessOf(std::string_view text) {
  pid_t pid = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, pid);
  if (error != std::errc() || pid <= 0 || text[0] == '0') return 0;
  const std::string_view suffix(rest, static_cast<size_t>(end - rest));
  const bool ours = suffix.empty() || suffix == "-journal" || suffix == "-wal" || suffix == "-shm";
  return ours ? pid : 0;
}

}  // namespace

void RemoveAbandonedFiles(const std::string& path) {
  const fs::path of(path);
  const std::string prefix = of.filename().string() + ".tmp.";
  const fs::path folder = of.has_parent_path() ? of.parent_path() : fs::path(".");
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(prefix)) continue;
    const pid_t pid = ProcessOf(std::string_view(name).substr(prefix.size()));
    if (pid == 0 || kill(pid, 0) == 0 || errno != ESRCH) continue;
    std::error_code ignored;
    if (it->symlink_status(ignored).type() != fs::file_type::regular) continue;
    unlink(it->path().c_str());
  }
}

}  // namespace xlatrace
