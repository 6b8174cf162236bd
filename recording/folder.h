// SPDX-License-Identifier: Apache-2.0

// What lies in a recording folder `run.rec/` (recording/format.md): recordings, notes, the job.
//
// Only plain files directly in the folder count; links are not followed. Thread-safety: re-entrant.

#ifndef XLATRACE_RECORDING_FOLDER_H_
#define XLATRACE_RECORDING_FOLDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace xlatrace::recording {

// One file, as its name tells: <token>.<host>.<pid>.<start>.rec or .note.
struct FolderEntry {
  std::string path;
  std::string token;
  std::string host;
  int64_t pid = 0;
  int64_t start_s = 0;  // CLOCK_REALTIME.
  uint64_t bytes = 0;
  bool live = false;  // A process holds its lock: it is still writing. Recordings only.
};

struct Folder {
  std::string job;                      // Token in the file `job`; empty when there is none.
  std::vector<FolderEntry> recordings;  // By start, then host and pid.
  std::vector<FolderEntry> notes;
};

// Is there a recording folder at `path` (a folder with a .rec, .note or job file of ours)?
bool LooksLikeRecordingFolder(const std::string& path);

// Does the file at `path` begin as a recording does?
bool LooksLikeRecording(const std::string& path);

// Fails when the folder cannot be read. Files whose names are not ours are left out.
Result<Folder> ListFolder(const std::string& path);

// One file given by itself; the name may be anything (then host, pid and start are not known).
Result<FolderEntry> DescribeRecording(const std::string& path);

}  // namespace xlatrace::recording

#endif  // XLATRACE_RECORDING_FOLDER_H_
