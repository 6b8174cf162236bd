// SPDX-License-Identifier: Apache-2.0

// Reading and writing whole files.
//
// Reading follows nothing but regular files (a FIFO or device given by mistake is refused, never
// waited on). Writing is atomic: the bytes go to a temporary file beside the target, which replaces
// the target only on Commit(), so a full disk or Ctrl-C leaves nothing half-written behind.
//
// Thread-safety: functions are re-entrant; an AtomicFile belongs to one thread.

#ifndef XLATRACE_BASE_FILE_H_
#define XLATRACE_BASE_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace xlatrace {

inline constexpr uint64_t kNoLimit = UINT64_MAX;

// Whole content of a regular file of at most `max_bytes`. Errors name the path and the reason, and
// hint at what to do (wrong path, directory, no permission).
Result<std::string> ReadFile(const std::string& path, uint64_t max_bytes = kNoLimit);

// First `count` bytes (fewer at end of file), to tell kinds of files apart.
Result<std::string> ReadFileHead(const std::string& path, size_t count);

// Is there something at `path`? (A dangling link counts as nothing.)
bool Exists(const std::string& path);
bool IsDirectory(const std::string& path);
bool IsRegularFile(const std::string& path);
// Two names of one existing file (links included)?
bool IsSameFile(const std::string& a, const std::string& b);

// Refuses an existing `path` unless `force`, a directory, a device or pipe, and a place that cannot
// be written: called before long work so that it is not lost at the end.
Status CheckOutputPath(const std::string& path, bool force);

class AtomicFile {
 public:
  // Creates the temporary file `path`.tmp.<pid> with mode 0600.
  static Result<AtomicFile> Create(const std::string& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();  // Without Commit: removes the temporary file.

  Status Append(std::string_view bytes);
  // Flushes, replaces the target; mode becomes 0666 less umask.
  Status Commit();
  const std::string& temporary_path() const { return temporary_; }

 private:
  AtomicFile(std::string path, std::string temporary, int fd);
  Status Flush();

  std::string path_;
  std::string temporary_;
  std::string buffer_;
  int fd_;
};

// Removes temporary files of AtomicFile that are open now; async-signal-safe, for SIGINT handlers.
void RemoveTemporaryFilesOnSignal();
// Adds a file (SQLite's temporary database, say) to that list; at most a handful at a time.
void RegisterTemporaryFile(const std::string& path);
void UnregisterTemporaryFile(const std::string& path);

}  // namespace xlatrace

#endif  // XLATRACE_BASE_FILE_H_
