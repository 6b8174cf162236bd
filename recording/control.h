// SPDX-License-Identifier: Apache-2.0

// Control of a live recording through its folder: orders of `xlatrace control`, and the states of
// the job's processes. Needs neither signals nor sockets; works on a network file system.
//
//   run.rec/control   "start 3\n" or "stop 3\n": the order and its number. "start 4 flush\n" also
//                     requests all records of each process, those of running work included
//   run.rec/job       after the token, one line per change of a process's state:
//                     "state IDENTITY ORDER WORD\n"; IDENTITY is the stem of its file name, ORDER
//                     the number of the last order it has read, WORD the text of ProcessState
//
// Thread-safety: re-entrant. Depends on libc only, because the collector links it.

#ifndef XLATRACE_RECORDING_CONTROL_H_
#define XLATRACE_RECORDING_CONTROL_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace xlatrace::recording {

inline constexpr const char* kControlName = "control";

struct ControlOrder {
  uint64_t number = 0;  // 0: no order.
  bool recording = true;
  bool flush = false;
};
// Returns number 0 for text that is not an order.
ControlOrder ParseControl(std::string_view text);
std::string FormatControl(const ControlOrder& order);
// Reads the order in `folder`.
ControlOrder ReadControl(const std::string& folder);

enum class ProcessState : int {
  kRecording = 0,
  kWaiting = 1,   // Waits for --delay or for the first step of --steps.
  kPaused = 2,    // Paused by the program: xlatrace_pause().
  kStopped = 3,   // Stopped by `xlatrace control stop`.
  kFinished = 4,  // The time of --duration or --steps has passed.
};
// "recording", "waiting"...
const char* Word(ProcessState state);

struct ReportedState {
  uint64_t order = 0;
  std::string word;
};
std::string FormatState(std::string_view identity, uint64_t order, ProcessState state);
// Last state of each process, by identity, from the text of a `job` file.
std::map<std::string, ReportedState> ParseStates(std::string_view job);

}  // namespace xlatrace::recording

#endif  // XLATRACE_RECORDING_CONTROL_H_
