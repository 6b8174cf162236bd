// SPDX-License-Identifier: Apache-2.0

// Content of a recording folder `run.rec/` (recording/format.md): recordings, notes, the job file.
//
// Only plain files directly in the folder count; links are not followed. Thread-safety: re-entrant.

#ifndef XLATRACE_RECORDING_FOLDER_H_
#define XLATRACE_RECORDING_FOLDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace xlatrace::recording {

// Largest accepted file `job`: the token, and one line per ended process.
inline constexpr uint64_t kMaxJobFileBytes = 16 << 20;

// One file, with the parts of its name: <token>.<host>.<pid>.<start>.rec or .note.
struct FolderEntry {
  std::string path;
  std::string token;
  std::string host;
  int64_t pid = 0;
  int64_t start_s = 0;  // CLOCK_REALTIME.
  uint64_t bytes = 0;
  bool live = false;  // A process holds its lock and still writes it. Recordings only.
};

struct Folder {
  std::string job;                      // Token in the file `job`; empty if there is none.
  std::vector<FolderEntry> recordings;  // Ordered by start, then host and pid.
  std::vector<FolderEntry> notes;
};

// True if `path` is a folder with a .rec, .note or job file of xlatrace.
bool LooksLikeRecordingFolder(const std::string& path);

// True if the file begins like a recording.
bool LooksLikeRecording(const std::string& path);

// Fails if the folder cannot be read. Skips files with other names.
Result<Folder> ListFolder(const std::string& path);

// Describes a single file with any name; for other names than those above, host, pid and start are
// not known.
Result<FolderEntry> DescribeRecording(const std::string& path);

}  // namespace xlatrace::recording

#endif  // XLATRACE_RECORDING_FOLDER_H_
