// SPDX-License-Identifier: Apache-2.0

// Reads a recording folder of the Python hook (python/xlatrace_hook). It has one folder per process
// with status.json and the profiles.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_TOOLS_HOOK_RECORDING_H_
#define XLATRACE_TOOLS_HOOK_RECORDING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace xlatrace::tools {

struct HookProcess {
  struct Profile {
    std::string path;          // A complete xplane file.
    std::string reason;        // Reason of the stop: "exit", "duration", "memory"...
    int64_t stop_unix_ns = 0;  // The request to stop the profiler; 0: not known.
  };
  std::string folder;
  int64_t pid = 0;
  std::string command;    // argv, secrets masked by the hook.
  std::string framework;  // "jax", "tensorflow" or empty.
  std::string framework_version;
  std::string jaxlib_version;
  std::optional<std::string> xla_flags;
  std::string python_version;
  std::string start_error;
  std::string stop_error;
  std::string stop_reason;  // "exit", "duration", ...
  bool started = false;     // The profiler was started.
  bool stopped = false;     // The profile was ended and written.
  int64_t own_cost_ns = 0;
  std::vector<Profile> profiles;
  std::string host_samples;  // Path of the process's sampled stacks; empty: none.
  std::string end;  // How the process ended: "exit", "exec", "signal"...; empty: not reported.
  std::string end_signal;                // "SIGTERM"
  std::optional<int64_t> ended_unix_ns;  // Known to the program that waited for the process.
  bool is_delayed = false;               // The first profile began later than the runtime.
  int64_t unsaved_unix_ns = 0;  // Start of a profile that was begun and never written; 0: none.
  std::vector<std::string> notes;
};

struct HookRecording {
  std::vector<HookProcess> processes;  // By start.
  std::vector<std::string> damaged;    // Folders whose status cannot be read.
};

// A folder that does not exist is a recording without processes.
Result<HookRecording> ReadHookRecording(const std::string& folder);

// The reason why there is no result, and a remedy, in one sentence.
Error NothingRecorded(const HookRecording& recording);

// Removes only files that the hook wrote, by their known names and never through a link, and then
// empty folders. True if nothing is left.
bool RemoveHookRecording(const std::string& folder, const HookRecording& recording);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_HOOK_RECORDING_H_
