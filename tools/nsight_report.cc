// SPDX-License-Identifier: Apache-2.0
#include "tools/nsight_report.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>

#include "base/file.h"
#include "base/shell_word.h"
#include "base/subprocess.h"
#include "importers/importer.h"
#include "importers/known_formats.h"
#include "tools/console.h"
#include "tools/temporary_folder.h"

namespace xlatrace::tools {
namespace {

namespace fs = std::filesystem;

constexpr size_t kReportHeadBytes = 4096;

bool IsOnPath(const std::string& program) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  std::string folder;
  while (std::getline(folders, folder, ':')) {
    const fs::path file = fs::path(folder) / program;
    if (!IsDirectory(file.string()) && access(file.c_str(), X_OK) == 0) return true;
  }
  return false;
}

}  // namespace

bool IsExportableReport(const std::string& path) {
  if (!IsRegularFile(path)) return false;
  const Result<std::string> head = ReadFileHead(path, kReportHeadBytes);
  return head && importers::LooksLikeNsightReport(path, *head) && !importers::Detect(path) &&
         IsOnPath("nsys");
}

Result<std::string> ExportReport(const std::string& path) {
  XLATRACE_ASSIGN(const std::string folder, MakeTemporaryFolder());
  const std::string output =
      folder + "/" + fs::path(path).filename().replace_extension(".sqlite").string();
  Note(fmt::format("exporting '{}' with nsys", path));
  // Results go to standard output, so nsys's progress must not.
  XLATRACE_ASSIGN(const ChildExit ended,
                  RunChild({"sh", "-c", "exec nsys \"$@\" >&2", "sh", "export", "--type", "sqlite",
                            "--force-overwrite", "true", "--output", output, path},
                           {}));
  if (ended.status == 0 && Exists(output)) return output;
  return MakeError(
      fmt::format("nsys export of '{}' failed with exit status {}", path, ended.status),
      fmt::format("nsys export --type sqlite {}", ShellWord(path)));
}

}  // namespace xlatrace::tools
