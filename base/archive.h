// SPDX-License-Identifier: Apache-2.0

// Entries of a zip or tar archive as streams, never as paths: nothing is unpacked to disk.
//
// Formats: zip, tar, and tar inside of gzip, xz, zstd or bzip2.
//
// Limits against archive bombs: the number of entries, and the size of an entry that the caller
// reads. A third limit is the ratio of all unpacked bytes, skipped entries included, to the size of
// the file. Thread-safety: re-entrant.

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
  std::string name;  // From the archive, unchecked: it may begin with '/' and hold "..".
  Kind kind = Kind::kFile;
  uint64_t size_bytes = 0;  // From the archive; 0 if it has none.
};

struct ArchiveLimits {
  uint64_t entry_bytes = uint64_t{1} << 30;
  uint64_t ratio = 400;
  uint64_t deflate_ratio = 400;  // For gzip and zip, whose window is small, so that they compress
                                 // less.
  uint64_t ratio_free_bytes = uint64_t{64} << 20;
  int64_t entries = kMaxEntries;
};

// True if the file begins with the signature of one of these formats.
bool LooksLikeArchive(const std::string& path);

// Calls `wants(entry)` for every entry of the archive, in order. For a regular file for which it
// returns true, reads the content and calls `take(entry, content)`. `goes_on`, if given, gets the
// first bytes of the entry (up to 256 KiB). If it returns false, the entry is neither read further
// nor taken. Errors name the archive; entries before the error were taken.
Status VisitArchive(
    const std::string& path, const ArchiveLimits& limits,
    const std::function<bool(const ArchiveEntry& entry)>& wants,
    const std::function<Status(ArchiveEntry entry, std::string content)>& take,
    const std::function<bool(const ArchiveEntry& entry, std::string_view head)>& goes_on = nullptr);

// The same for regular files only, selected by name.
Status ForEachArchiveEntry(
    const std::string& path, uint64_t max_entry_bytes,
    const std::function<bool(const std::string& name)>& wants,
    const std::function<Status(std::string name, std::string content)>& take);

}  // namespace xlatrace

#endif  // XLATRACE_BASE_ARCHIVE_H_
