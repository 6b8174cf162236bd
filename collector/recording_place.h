// SPDX-License-Identifier: Apache-2.0

// Where this process writes: the folder of its job, claimed together with the other processes of
// the job, and its own file in it.
//
// The folder belongs to the job whose token stands in its file `job`. A folder of another job that
// is still being written is left alone (run.2.rec is taken); one that is finished is moved aside
// (run.old.rec), never deleted. What cannot be written falls back to $XLATRACE_DIR, then
// $TMPDIR/xlatrace-UID.

#ifndef XLATRACE_COLLECTOR_RECORDING_PLACE_H_
#define XLATRACE_COLLECTOR_RECORDING_PLACE_H_

#include <cstdint>
#include <string>

namespace xlatrace::collector {

struct RecordingPlace {
  int fd = -1;           // Open for writing, locked; -1: nowhere, `note` says why.
  std::string folder;    // Absolute.
  std::string identity;  // <token>.<host>.<pid>.<start>
  bool claimed = false;  // This process made the folder.
  std::string note;      // Why it is not the place asked for; empty when it is.
};

// `start_unix_s` is part of the file's name, so that a pid that comes again is another process.
RecordingPlace OpenRecordingPlace(unsigned long long start_unix_s);

// Notes in the folder's `job` that this process ends, with how many kernels it launched since it
// last said so: a process that execs says it before, and again if it came back. `first`: never
// before.
void TellEnd(const std::string& folder, uint64_t launches, bool first);
// Appends a line to the folder's `job`.
void TellJob(const std::string& folder, const std::string& line);
// Bytes on the disk of all recordings of the job of `identity`, this one's included.
uint64_t JobBytes(const std::string& folder, const std::string& identity);
// What all processes of the job that have ended noted there.
void EndedProcesses(const std::string& folder, int* processes, uint64_t* launches);

// Token of the job (XLATRACE_JOB), or one made of time and pid.
std::string JobToken();
std::string HostName();  // With letters that are good in a file name.

}  // namespace xlatrace::collector

#endif  // XLATRACE_COLLECTOR_RECORDING_PLACE_H_
