// SPDX-License-Identifier: Apache-2.0
#include "tools/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <system_error>

#include <fmt/format.h>

namespace xlatrace::tools {
namespace {

namespace fs = std::filesystem;

// Folders of this process.
std::set<std::string>& TemporaryFolders() {
  static auto* const folders = new std::set<std::string>();  // Outlives functions of atexit.
  return *folders;
}

void RemoveTemporaryFolders() {
  for (const std::string& folder : TemporaryFolders()) {
    std::error_code error;
    fs::remove_all(folder, error);
  }
}

}  // namespace

Result<std::string> MakeTemporaryFolder() {
  const char* const place = std::getenv("TMPDIR");
  std::string folder =
      (place != nullptr && *place != '\0' ? std::string(place) : "/tmp") + "/xlatrace-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) {
    return MakeError(fmt::format("cannot make '{}': {}", folder, std::strerror(errno)),
                     "set TMPDIR to a folder that can be written");
  }
  if (TemporaryFolders().empty()) std::atexit(RemoveTemporaryFolders);
  TemporaryFolders().insert(folder);
  return folder;
}

bool LiesInTemporaryFolder(const std::string& path) {
  return TemporaryFolders().contains(fs::path(path).parent_path().string());
}

}  // namespace xlatrace::tools
