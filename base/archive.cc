// SPDX-License-Identifier: Apache-2.0
#include "base/archive.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/compress.h"
#include "base/file.h"
#include "base/inflate_stream.h"

namespace xlatrace {
namespace {

constexpr size_t kTarBlock = 512;

// "ustar" at its offset; both tar dialects have it.
bool IsTarHead(std::string_view head) {
  return head.size() >= kTarBlock && head.substr(257, 5) == "ustar";
}

ArchiveEntry::Kind KindOf(archive_entry* entry) {
  if (archive_entry_hardlink(entry) != nullptr) return ArchiveEntry::Kind::kLink;
  switch (archive_entry_filetype(entry)) {
    case AE_IFREG:
      return ArchiveEntry::Kind::kFile;
    case AE_IFDIR:
      return ArchiveEntry::Kind::kFolder;
    case AE_IFLNK:
      return ArchiveEntry::Kind::kLink;
    default:
      return ArchiveEntry::Kind::kOther;
  }
}

}  // namespace

bool LooksLikeArchive(const std::string& path) {
  const auto head = ReadFileHead(path, kTarBlock);
  if (!head) return false;
  if (head->starts_with("PK\3\4") || IsTarHead(*head)) return true;
  if (head->size() < 6 || !LooksCompressed(*head)) return false;
  auto stream = InflateStream::Open(path);
  std::string inflated(kTarBlock, '\0');
  size_t size = 0;
  while (stream && size < inflated.size()) {
    const auto got = stream->Read(inflated.data() + size, inflated.size() - size);
    if (!got || *got == 0) break;
    size += *got;
  }
  return IsTarHead(std::string_view(inflated).substr(0, size));
}

Status VisitArchive(
    const std::string& path, const ArchiveLimits& limits,
    const std::function<bool(const ArchiveEntry& entry)>& wants,
    const std::function<Status(ArchiveEntry entry, std::string content)>& take,
    const std::function<bool(const ArchiveEntry& entry, std::string_view head)>& goes_on) {
  // Refuses other than regular files before a read could block on them.
  XLATRACE_TRY(ReadFileHead(path, 4));
  std::error_code ignored;
  const uint64_t file_bytes = std::filesystem::file_size(path, ignored);
  const std::unique_ptr<archive, decltype(&archive_read_free)> reader(archive_read_new(),
                                                                      archive_read_free);
  archive_read_support_filter_gzip(reader.get());
  archive_read_support_filter_xz(reader.get());
  archive_read_support_filter_zstd(reader.get());
  archive_read_support_filter_bzip2(reader.get());
  archive_read_support_format_zip(reader.get());
  archive_read_support_format_tar(reader.get());
  const auto failure = [&](std::string_view doing) {
    const char* reason = archive_error_string(reader.get());
    return MakeError(fmt::format("{} '{}': {}", doing, path, reason ? reason : "damaged"),
                     "the archive is damaged or cut off; copy it again from its source");
  };
  const auto too_large = [&](std::string_view name) {
    return MakeError(fmt::format("'{}' of '{}' is too large", name, path),
                     "unpack the archive by hand and name the folder");
  };
  const auto is_bomb = [&](uint64_t out) {
    const bool deflates = archive_format(reader.get()) == ARCHIVE_FORMAT_ZIP ||
                          archive_filter_code(reader.get(), 0) == ARCHIVE_FILTER_GZIP;
    const uint64_t ratio = deflates ? std::min(limits.ratio, limits.deflate_ratio) : limits.ratio;
    return out > limits.ratio_free_bytes && out / ratio > file_bytes;
  };
  if (archive_read_open_filename(reader.get(), path.c_str(), 1 << 17) != ARCHIVE_OK) {
    return failure("opening");
  }
  std::string block(1 << 18, '\0');
  uint64_t total = 0;
  for (int64_t entries = 0;; ++entries) {
    archive_entry* header = nullptr;
    const int code = archive_read_next_header(reader.get(), &header);
    if (code == ARCHIVE_EOF) return {};
    if (code != ARCHIVE_OK && code != ARCHIVE_WARN) return failure("reading the list of");
    if (entries >= limits.entries) {
      return MakeError(fmt::format("'{}' holds more than {} files", path, limits.entries));
    }
    const char* pathname = archive_entry_pathname(header);
    ArchiveEntry entry{.name = pathname == nullptr ? "" : pathname, .kind = KindOf(header)};
    const bool is_tar = archive_format(reader.get()) != ARCHIVE_FORMAT_ZIP;
    if (archive_entry_size_is_set(header) != 0) {
      entry.size_bytes = static_cast<uint64_t>(std::max<la_int64_t>(archive_entry_size(header), 0));
    }
    // Skipped entries of a tar are inflated, too.
    if (is_tar && is_bomb(total + entry.size_bytes)) return too_large(entry.name);
    if (!wants(entry) || entry.kind != ArchiveEntry::Kind::kFile) {
      if (is_tar) total += entry.size_bytes;
      continue;
    }
    if (entry.size_bytes > limits.entry_bytes) return too_large(entry.name);
    std::string content;
    bool wanted = true;
    while (wanted) {
      const la_ssize_t got = archive_read_data(reader.get(), block.data(), block.size());
      if (got == 0) break;
      if (got < 0) return failure(fmt::format("reading '{}' of", entry.name));
      if (content.empty()) {
        const std::string_view head(block.data(), static_cast<size_t>(got));
        wanted = !goes_on || goes_on(entry, head);
        // Reserve once: growth by doubling would need twice the memory.
        if (wanted) content.reserve(entry.size_bytes);
      }
      content.append(block.data(), static_cast<size_t>(got));
      total += static_cast<uint64_t>(got);
      if (content.size() > limits.entry_bytes || is_bomb(total)) return too_large(entry.name);
    }
    if (!wanted) {
      if (is_tar && entry.size_bytes > content.size()) total += entry.size_bytes - content.size();
      continue;
    }
    XLATRACE_TRY(take(std::move(entry), std::move(content)));
  }
}

Status ForEachArchiveEntry(
    const std::string& path, uint64_t max_entry_bytes,
    const std::function<bool(const std::string& name)>& wants,
    const std::function<Status(std::string name, std::string content)>& take) {
  return VisitArchive(
      path, {.entry_bytes = max_entry_bytes},
      [&](const ArchiveEntry& entry) {
        return entry.kind == ArchiveEntry::Kind::kFile && wants(entry.name);
      },
      [&](ArchiveEntry entry, std::string content) {
        return take(std::move(entry.name), std::move(content));
      });
}

}  // namespace xlatrace
