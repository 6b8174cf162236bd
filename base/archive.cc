#include "base/archive.h"

#include <archive.h>
#include <archive_entry.h>

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/file.h"

namespace xlatrace {
namespace {

constexpr uint64_t kMaxArchiveRatio = 400;
constexpr uint64_t kRatioFreeBytes = uint64_t{64} << 20;

}  // namespace

Status ForEachArchiveEntry(
    const std::string& path, uint64_t max_entry_bytes,
    const std::function<bool(const std::string& name)>& wants,
    const std::function<Status(std::string name, std::string content)>& take) {
  // Refuses what is not a regular file before anything would wait on it.
  XLATRACE_TRY(ReadFileHead(path, 4));
  const std::unique_ptr<archive, decltype(&archive_read_free)> reader(archive_read_new(),
                                                                      archive_read_free);
  archive_read_support_format_zip(reader.get());
  archive_read_support_format_tar(reader.get());
  const auto failure = [&](std::string_view doing) {
    const char* reason = archive_error_string(reader.get());
    return MakeError(fmt::format("{} '{}': {}", doing, path, reason ? reason : "damaged"),
                     "the archive is damaged or cut off; copy it again from its source");
  };
  if (archive_read_open_filename(reader.get(), path.c_str(), 1 << 17) != ARCHIVE_OK) {
    return failure("opening");
  }
  std::string block(1 << 18, '\0');
  uint64_t total = 0;
  for (int64_t entries = 0;; ++entries) {
    archive_entry* entry = nullptr;
    const int code = archive_read_next_header(reader.get(), &entry);
    if (code == ARCHIVE_EOF) return {};
    if (code != ARCHIVE_OK && code != ARCHIVE_WARN) return failure("reading the list of");
    if (entries >= kMaxEntries) {
      return MakeError(fmt::format("'{}' holds more than {} files", path, kMaxEntries));
    }
    const char* pathname = archive_entry_pathname(entry);
    std::string name = pathname == nullptr ? "" : pathname;
    if (archive_entry_filetype(entry) != AE_IFREG || !wants(name)) continue;
    std::string content;
    while (true) {
      const la_ssize_t got = archive_read_data(reader.get(), block.data(), block.size());
      if (got == 0) break;
      if (got < 0) return failure(fmt::format("reading '{}' of", name));
      content.append(block.data(), static_cast<size_t>(got));
      total += static_cast<uint64_t>(got);
      const auto consumed = static_cast<uint64_t>(archive_filter_bytes(reader.get(), -1));
      if (content.size() > max_entry_bytes ||
          (total > kRatioFreeBytes && total / kMaxArchiveRatio > consumed)) {
        return MakeError(fmt::format("'{}' of '{}' is too large", name, path),
                         "unpack the archive by hand and import the folder");
      }
    }
    XLATRACE_TRY(take(std::move(name), std::move(content)));
  }
}

}  // namespace xlatrace
