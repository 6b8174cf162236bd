// Entries of a zip or tar archive as streams, never as paths: nothing is unpacked to disk.
//
// Limits: an archive may hold kMaxEntries entries; an entry is read up to a size its caller sets,
// and no further than kMaxArchiveRatio times what was read of the file, so a bomb is an error.
// Thread-safety: re-entrant.

#ifndef XLATRACE_BASE_ARCHIVE_H_
#define XLATRACE_BASE_ARCHIVE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "base/error.h"

namespace xlatrace {

inline constexpr int64_t kMaxEntries = 1'000'000;

// Calls `wants(name)` for every regular file of the archive, in order; for those it wants, reads
// the content and calls `take(name, content)`. Errors name the archive; entries before it were
// taken.
Status ForEachArchiveEntry(
    const std::string& path, uint64_t max_entry_bytes,
    const std::function<bool(const std::string& name)>& wants,
    const std::function<Status(std::string name, std::string content)>& take);

}  // namespace xlatrace

#endif  // XLATRACE_BASE_ARCHIVE_H_
