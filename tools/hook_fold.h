// SPDX-License-Identifier: Apache-2.0

// From a recording folder of the Python hook to its run.db, where `record` did not come to it: it
// still runs, or it was killed.
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
// profiles stays; an older one is kept as run.old.db.
Status FoldHookFolder(const std::string& folder, const std::string& database);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_HOOK_FOLD_H_
