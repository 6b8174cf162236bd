// SPDX-License-Identifier: Apache-2.0

// Where this process writes: the folder of its job, claimed together with the other processes of
// the job, and its own file in it.
//
// The folder belongs to the job whose token is in its file `job`. While another job writes into the
// folder, run.2.rec is taken. A finished folder of another job is renamed (run.old.rec), never
// deleted. A folder that cannot be written is replaced by $XLATRACE_DIR, then by
// $TMPDIR/xlatrace-UID.

#ifndef XLATRACE_COLLECTOR_RECORDING_PLACE_H_
#define XLATRACE_COLLECTOR_RECORDING_PLACE_H_

#include <cstdint>
#include <string>

namespace xlatrace::collector {

struct RecordingPlace {
  int fd = -1;           // Open for writing, locked; -1: nowhere, `note` has the reason.
  std::string folder;    // Absolute.
  std::string identity;  // <token>.<host>.<pid>.<start>
  bool claimed = false;  // This process took the folder for the job.
  std::string note;      // Why it is not the requested place; empty when it is.
};

// `start_unix_s` is part of the file's name, so that a pid that comes again is another process.
RecordingPlace OpenRecordingPlace(unsigned long long start_unix_s);

// Notes in the folder's `job` that this process ends, with its number of kernels since its last
// note. A process that execs adds a note before the exec, and another one if the exec failed.
// `first`: the process has no note yet.
void AppendEndLine(const std::string& folder, uint64_t launches, bool first);
// Appends a line to the folder's `job`.
void AppendJobLine(const std::string& folder, const std::string& line);
// Bytes on the disk of all recordings of the job of `identity`, this one's included.
uint64_t JobBytes(const std::string& folder, const std::string& identity);
// Sums of the notes of AppendEndLine.
void EndedProcesses(const std::string& folder, int* processes, uint64_t* launches);

// Token of the job (XLATRACE_JOB), or one made of time and pid.
std::string JobToken();
std::string HostName();  // With letters that are good in a file name.

}  // namespace xlatrace::collector

#endif  // XLATRACE_COLLECTOR_RECORDING_PLACE_H_
