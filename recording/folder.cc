// SPDX-License-Identifier: Apache-2.0
#include "recording/folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <tuple>

#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/file.h"
#include "recording/format.h"

namespace xlatrace::recording {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRecording = ".rec";
constexpr std::string_view kNote = ".note";

// Removes and returns the part of `text` after the last dot.
std::string_view TakeLast(std::string_view* text) {
  const size_t dot = text->rfind('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view last = text->substr(dot + 1);
  *text = text->substr(0, dot);
  return last;
}

bool ParseWhole(std::string_view text, int base, int64_t* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value, base);
  return error == std::errc() && end == text.data() + text.size() && *value >= 0;
}

// <token>.<host>.<pid>.<start>: the host may contain dots, the token does not.
std::optional<FolderEntry> ParseName(std::string_view name) {
  FolderEntry entry;
  if (!ParseWhole(TakeLast(&name), 16, &entry.start_s)) return std::nullopt;
  if (!ParseWhole(TakeLast(&name), 10, &entry.pid)) return std::nullopt;
  const size_t dot = name.find('.');
  if (dot == 0 || dot == std::string_view::npos || dot + 1 == name.size()) return std::nullopt;
  entry.token = std::string(name.substr(0, dot));
  entry.host = std::string(name.substr(dot + 1));
  return entry;
}

// The writer holds an exclusive lock during its lifetime.
bool IsLocked(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return false;
  const bool locked = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(fd);
  return locked;
}

}  // namespace

bool LooksLikeRecording(const std::string& path) {
  const auto head = ReadFileHead(path, sizeof(kBlockMagic));
  return head && head->size() == sizeof(kBlockMagic) &&
         std::memcmp(head->data(), &kBlockMagic, sizeof(kBlockMagic)) == 0;
}

bool LooksLikeRecordingFolder(const std::string& path) {
  if (!IsDirectory(path)) return false;
  const auto folder = ListFolder(path);
  return folder && (!folder->recordings.empty() || !folder->notes.empty() || !folder->job.empty());
}

Result<FolderEntry> DescribeRecording(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  FolderEntry entry;
  for (const std::string_view ending : {kRecording, kNote}) {
    if (!name.ends_with(ending)) continue;
    auto parsed = ParseName(std::string_view(name).substr(0, name.size() - ending.size()));
    if (parsed) entry = std::move(*parsed);
  }
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    return MakeError(fmt::format("cannot open '{}': {}", path, std::strerror(errno)));
  }
  entry.path = path;
  entry.bytes = static_cast<uint64_t>(status.st_size);
  if (S_ISREG(status.st_mode)) entry.live = IsLocked(path);
  return entry;
}

Result<Folder> ListFolder(const std::string& path) {
  Folder folder;
  std::error_code error;
  fs::directory_iterator it(path, error);
  for (const fs::directory_iterator end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    std::error_code ignored;
    if (it->symlink_status(ignored).type() != fs::file_type::regular) continue;
    if (name == "job") {
      if (auto text = ReadFile(it->path().string(), kMaxJobFileBytes)) {
        folder.job = text->substr(0, text->find('\n'));
      }
      continue;
    }
    const bool is_recording = name.ends_with(kRecording);
    if (!is_recording && !name.ends_with(kNote)) continue;
    const size_t ending = is_recording ? kRecording.size() : kNote.size();
    std::optional<FolderEntry> entry =
        ParseName(std::string_view(name).substr(0, name.size() - ending));
    if (!entry) continue;
    entry->path = it->path().string();
    entry->bytes = fs::file_size(it->path(), ignored);
    if (ignored) continue;  // Deleted meanwhile.
    if (is_recording) entry->live = IsLocked(entry->path);
    (is_recording ? folder.recordings : folder.notes).push_back(std::move(*entry));
  }
  if (error) {
    return MakeError(fmt::format("cannot read the folder '{}': {}", path, error.message()));
  }
  const auto by_start = [](const FolderEntry& a, const FolderEntry& b) {
    return std::tie(a.start_s, a.host, a.pid) < std::tie(b.start_s, b.host, b.pid);
  };
  std::sort(folder.recordings.begin(), folder.recordings.end(), by_start);
  std::sort(folder.notes.begin(), folder.notes.end(), by_start);
  return folder;
}

}  // namespace xlatrace::recording
