// SPDX-License-Identifier: Apache-2.0

// Runs a child that shares the terminal: it uses our standard streams, and its exit is returned.
//
// Thread-safety: one child at a time per process (signals are forwarded to it).

#ifndef XLATRACE_BASE_SUBPROCESS_H_
#define XLATRACE_BASE_SUBPROCESS_H_

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace xlatrace {

// Status codes as env(1) and nohup(1) give them.
inline constexpr int kCannotRunStatus = 126;
inline constexpr int kNotFoundStatus = 127;

struct ChildExit {
  int status = 0;      // Exit status; 128 + N when a signal N ended the child.
  int signal = 0;      // N, or 0.
  int exec_error = 0;  // errno if the command could not be started.
  int pid = 0;
  long long ended_unix_ns = 0;  // Time at which the exit was reported; the child ended at or before
                                // this time.
};

// Runs `command` (looked up on PATH) with `environment` added to ours. Meanwhile, SIGINT and
// SIGQUIT are left to the child (the terminal sends them to both), and SIGTERM and SIGHUP are
// forwarded. Signals that are ignored at the start stay ignored in the child.
Result<ChildExit> RunChild(const std::vector<std::string>& command,
                           const std::vector<std::pair<std::string, std::string>>& environment);

struct CapturedCommand {
  int status = 0;     // As in ChildExit.
  std::string out;    // The first `max_bytes` of standard output.
  std::string error;  // The same for standard error.
  bool timed_out = false;
  bool too_long = false;  // Standard output is longer than `max_bytes`; the child was killed.
};

// Runs `command` with empty standard input and `environment` added to ours. Kills the child after
// `timeout_ms`, and if this process ends first. Fails only if no process can be started.
Result<CapturedCommand> RunCaptured(
    const std::vector<std::string>& command,
    const std::vector<std::pair<std::string, std::string>>& environment, int timeout_ms,
    size_t max_bytes);

// Standard output of a short command, at most `max_bytes`; its standard error is discarded. An
// error if it cannot be run, fails, or takes longer than `timeout_ms`.
Result<std::string> CaptureOutput(const std::vector<std::string>& command, int timeout_ms,
                                  size_t max_bytes = 1 << 20);

}  // namespace xlatrace

#endif  // XLATRACE_BASE_SUBPROCESS_H_
