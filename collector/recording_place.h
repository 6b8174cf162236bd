// SPDX-License-Identifier: Apache-2.0

// The place of this process's file: the folder of its job, which all processes of the job claim
// together, and the file in it.
//
// The folder belongs to the job whose token is in its file `job`. While another job writes into the
// folder, run.2.rec is used. A finished folder of another job is renamed (run.old.rec), never
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
  std::string note;      // The reason if the place is not the requested one; otherwise empty.
};

// `start_unix_s` is part of the file's name, so that a reused pid gets another file.
RecordingPlace OpenRecordingPlace(unsigned long long start_unix_s);

// Adds a line to the folder's `job`: this process ends, with its number of kernels since its last
// line. A process that calls exec adds a line before the exec, and another one if the exec failed.
// `first`: the process has no line yet.
void AppendEndLine(const std::string& folder, uint64_t launches, bool first);
// Appends a line to the folder's `job`.
void AppendJobLine(const std::string& folder, const std::string& line);
// Bytes on the disk of all recordings of the job of `identity`, including this process's.
uint64_t JobBytes(const std::string& folder, const std::string& identity);
// Sums of the notes of AppendEndLine.
void EndedProcesses(const std::string& folder, int* processes, uint64_t* launches);

// Token of the job (XLATRACE_JOB), or a new one from time and pid.
std::string JobToken();
std::string
HostName();  // The host's name with only those characters that are valid in a file name.

}  // namespace xlatrace::collector

#endif  // XLATRACE_COLLECTOR_RECORDING_PLACE_H_
