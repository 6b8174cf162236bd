// SPDX-License-Identifier: Apache-2.0
#include "tools/mcp_files.h"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/file.h"
#include "base/shell_word.h"
#include "recording/folder.h"
#include "store/run_db_mark.h"

namespace xlatrace::tools {
namespace {

namespace fs = std::filesystem;

// An agent that opens more files in one session repeats itself.
constexpr size_t kMaxFiles = 1000;

bool IsRunHandle(const std::string& text) {
  return text.size() > 1 && text.size() < 8 && text[0] == 'r' &&
         text.find_first_not_of("0123456789", 1) == text.npos;
}

bool IsBelow(const fs::path& path, const fs::path& root) {
  auto part = path.begin();
  for (const fs::path& of_root : root) {
    if (of_root.empty()) continue;  // The root ends with a slash.
    if (part == path.end() || *part++ != of_root) return false;
  }
  return true;
}

}  // namespace

Result<McpFile> McpFiles::Open(const std::string& handle_or_path) {
  for (const McpFile& file : files_) {
    if (file.handle == handle_or_path) return file;
  }
  std::error_code error;
  const fs::path path = fs::canonical(handle_or_path, error);
  if (error && IsRunHandle(handle_or_path)) {
    return MakeError(fmt::format("no file has the handle {}; call open first", handle_or_path));
  }
  // The same message for both, so that answers do not reveal which files exist outside of the root.
  if (error || (!root_.empty() && !IsBelow(path, fs::canonical(root_, error)))) {
    return MakeError(root_.empty() ? "the file does not exist or cannot be read"
                                   : "no such file lies below the folder of --root");
  }
  if (!fs::is_regular_file(path, error) && !fs::is_directory(path, error)) {
    return MakeError("the path names neither a file nor a folder");
  }
  if (recording::LooksLikeRecordingFolder(path.string())) {
    return MakeError(
        fmt::format("the folder is a recording, and this server writes no file; make "
                    "its run.db first: xlatrace summary {}",
                    ShellWord(path.string())));
  }
  for (const McpFile& file : files_) {
    if (file.path == path.string()) return file;
  }
  if (files_.size() >= kMaxFiles) {
    return MakeError(fmt::format("{} files are open already", kMaxFiles));
  }
  files_.push_back(
      {fmt::format("r{}", files_.size() + 1), path.string(), store::LooksLikeRunDb(path.string())});
  return files_.back();
}

}  // namespace xlatrace::tools
