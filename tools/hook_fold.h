// SPDX-License-Identifier: Apache-2.0

// Imports a recording folder of the Python hook into its run.db. It is used if `record` has not
// done so, because the program still runs or `record` was killed.
//
// Thread-safety: one thread.

#ifndef XLATRACE_TOOLS_HOOK_FOLD_H_
#define XLATRACE_TOOLS_HOOK_FOLD_H_

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tools/hook_recording.h"

namespace xlatrace::tools {

// Facts of the run about the framework, its profiler and `command`.
std::vector<std::pair<std::string, std::string>> HookRunInfo(const HookRecording& recording,
                                                             const std::string& command);

// A folder with processes of the hook.
bool LooksLikeHookFolder(const std::string& folder);

// Builds `database` from the profiles that are saved so far. A database that is newer than the
// profiles is kept; an older one is renamed to run.old.db.
Status FoldHookFolder(const std::string& folder, const std::string& database);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_HOOK_FOLD_H_
