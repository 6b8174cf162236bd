// SPDX-License-Identifier: Apache-2.0

// `xlatrace record` on a machine with an NVIDIA driver: the command runs with libxlatrace.so
// preloaded, and its recording is imported when the command ends.
//
// Thread-safety: one thread.

#ifndef XLATRACE_TOOLS_PRELOAD_RECORDING_H_
#define XLATRACE_TOOLS_PRELOAD_RECORDING_H_

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/subprocess.h"

namespace xlatrace::tools {

// True if an NVIDIA GPU can be used here: its driver library can be loaded, and a device exists.
// Loads the library in a child process only. XLATRACE_FORCE_COLLECTOR=1 forces true (tests), =0
// false.
bool HasNvidiaDriver();

struct PreloadPlaces {
  std::string database;   // Absolute.
  std::string recording;  // Absolute folder.
  std::string token;      // The job's token.
  // True if this command created the token. Then no other process writes into the folder, and the
  // folder may be removed after the import. False if a launcher gave the token to several
  // processes.
  bool own = true;
};

// Chooses the token (XLATRACE_JOB, the launcher's, or a new one) and the folder. Creates the folder
// if it belongs to this command.
Result<PreloadPlaces> PreparePreload(const std::string& database);

// Environment variables to add to the child's environment.
std::vector<std::pair<std::string, std::string>> PreloadEnvironment(const PreloadPlaces& places,
                                                                    const std::string& library);

// The variables by which the driver and NVTX load the collector. The preload sets them, too, but
// set-uid programs, `sudo` and some containers drop LD_PRELOAD. `light`: without NVTX.
std::vector<std::pair<std::string, std::string>> InjectionEnvironment(const std::string& library,
                                                                      bool light);

// Folds the recording into run.db and reports on standard error. `command` is masked already;
// `child` is how the command ended.
Status FoldPreload(const PreloadPlaces& places, const std::string& command,
                   const std::string& shown_database, const ChildExit& child);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_PRELOAD_RECORDING_H_
