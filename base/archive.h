// SPDX-License-Identifier: Apache-2.0

// Entries of a zip or tar archive as streams, never as paths: nothing is unpacked to disk.
//
// zip, tar, and tar inside of gzip, xz, zstd or bzip2.
//
// Limits: an archive may hold so many entries; an entry is read up to a size its caller sets; and
// what comes out, entries that are passed over included, may be no more than a ratio of what is in
// the file, so a bomb is an error. Thread-safety: re-entrant.

#ifndef XLATRACE_BASE_ARCHIVE_H_
#define XLATRACE_BASE_ARCHIVE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace xlatrace {

inline constexpr int64_t kMaxEntries = 1'000'000;

struct ArchiveEntry {
  enum class Kind : uint8_t { kFile, kFolder, kLink, kOther };
  std::string name;  // As it says itself: it may begin with '/' and hold "..".
  Kind kind = Kind::kFile;
  uint64_t size_bytes = 0;  // As it says itself; 0 where it does not.
};

struct ArchiveLimits {
  uint64_t entry_bytes = uint64_t{1} << 30;
  uint64_t ratio = 400;
  uint64_t deflate_ratio = 400;  // Of gzip and zip, which cannot see far and shrink less.
  uint64_t ratio_free_bytes = uint64_t{64} << 20;
  int64_t entries = kMaxEntries;
};

// Does the file begin like one of these?
bool LooksLikeArchive(const std::string& path);

// Calls `wants(entry)` for every entry of the archive, in order; for regular files it wants, reads
// the content and calls `take(entry, content)`. `goes_on`, where there is one, sees the first bytes
// of an entry (up to 256 KiB) and may say that the rest is of no use: then it is not read and not
// taken. Errors name the archive; entries before it were taken.
Status VisitArchive(
    const std::string& path, const ArchiveLimits& limits,
    const std::function<bool(const ArchiveEntry& entry)>& wants,
    const std::function<Status(ArchiveEntry entry, std::string content)>& take,
    const std::function<bool(const ArchiveEntry& entry, std::string_view head)>& goes_on = nullptr);

// The same for regular files alone, by name.
Status ForEachArchiveEntry(
    const std::string& path, uint64_t max_entry_bytes,
    const std::function<bool(const std::string& name)>& wants,
    const std::function<Status(std::string name, std::string content)>& take);

}  // namespace xlatrace

#endif  // XLATRACE_BASE_ARCHIVE_H_
