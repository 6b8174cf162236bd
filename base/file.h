// SPDX-License-Identifier: Apache-2.0

// Reading and writing whole files.
//
// Reading accepts regular files only; a FIFO or device given by mistake is refused instead of
// blocking. Writing is atomic: the bytes go to a temporary file beside the target, which replaces
// the target in Commit(). A full disk or Ctrl-C never leaves a partial file.
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

// Content of a regular file of at most `max_bytes`. Errors name the path and the reason and have a
// hint (wrong path, directory, no permission).
Result<std::string> ReadFile(const std::string& path, uint64_t max_bytes = kNoLimit);

// First `count` bytes (fewer at end of file), for the detection of file types.
Result<std::string> ReadFileHead(const std::string& path, size_t count);

// True if `path` exists. A dangling link does not count.
bool Exists(const std::string& path);
bool IsDirectory(const std::string& path);
bool IsRegularFile(const std::string& path);
// True if both paths name one existing file (links included).
bool IsSameFile(const std::string& a, const std::string& b);

// Refuses an existing `path` (unless `force`), a directory, a device or pipe, and a place that
// cannot be written. Call it before long work, so that the work is not lost at the end.
Status CheckOutputPath(const std::string& path, bool force);

class AtomicFile {
 public:
  // Creates the temporary file `path`.tmp.<pid> with mode 0600.
  static Result<AtomicFile> Create(const std::string& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();  // Without Commit: removes the temporary file.

  Status Append(std::string_view bytes);
  // Flushes and replaces the target; the mode becomes 0666 less umask.
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

// Removes the temporary files of all open AtomicFiles. Async-signal-safe, for SIGINT handlers.
void RemoveTemporaryFilesOnSignal();
// Adds a file (for example SQLite's temporary database) to that list, which holds only a few.
void RegisterTemporaryFile(const std::string& path);
void UnregisterTemporaryFile(const std::string& path);

}  // namespace xlatrace

#endif  // XLATRACE_BASE_FILE_H_
