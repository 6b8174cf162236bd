// SPDX-License-Identifier: Apache-2.0

// Steering a live recording through its folder: what `xlatrace control` writes and the processes of
// the job answer. No signals, no sockets; works over a network file system.
//
//   run.rec/control   "start 3\n" or "stop 3\n": the order, and its number; "start 4 flush\n" also
//                     asks each process for all records, those of running work included
//   run.rec/job       behind the token, one line each time a process changes what it does:
//                     "state IDENTITY ORDER WORD\n"; IDENTITY is the stem of its file's name, ORDER
//                     the number of the last order it has seen, WORD of ProcessState
//
// Thread-safety: re-entrant. Nothing but libc: the collector links it.

#ifndef XLATRACE_RECORDING_CONTROL_H_
#define XLATRACE_RECORDING_CONTROL_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace xlatrace::recording {

inline constexpr const char* kControlName = "control";

struct ControlOrder {
  uint64_t number = 0;  // 0: there is none.
  bool recording = true;
  bool flush = false;
};
// Text that is no order is none.
ControlOrder ParseControl(std::string_view text);
std::string FormatControl(const ControlOrder& order);
// The order that lies in `folder`.
ControlOrder ReadControl(const std::string& folder);

enum class ProcessState : int {
  kRecording = 0,
  kWaiting = 1,   // For --delay or the first of --steps.
  kPaused = 2,    // By the program: xlatrace_pause().
  kStopped = 3,   // By `xlatrace control stop`.
  kFinished = 4,  // --duration or --steps is over.
};
// "recording", "waiting"...
const char* Word(ProcessState state);

struct ToldState {
  uint64_t order = 0;
  std::string word;
};
std::string FormatState(std::string_view identity, uint64_t order, ProcessState state);
// The last word of each process, by identity, in the text of a `job` file.
std::map<std::string, ToldState> ParseStates(std::string_view job);

}  // namespace xlatrace::recording

#endif  // XLATRACE_RECORDING_CONTROL_H_
