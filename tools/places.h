// SPDX-License-Identifier: Apache-2.0

// Where the parts of an installation lie, found from the program's own place so that a prefix can
// be moved.

#ifndef XLATRACE_TOOLS_PLACES_H_
#define XLATRACE_TOOLS_PLACES_H_

#include <string>

#include "base/error.h"

namespace xlatrace::tools {

// Folder with the Python hook (sitecustomize.py), beside this program: ../share/xlatrace/hook.
// XLATRACE_HOOK_PATH names another one.
Result<std::string> HookFolder();

// The library to preload, libxlatrace.so: ../lib beside this program, also where distributions put
// libraries. XLATRACE_LIB names another one. Absolute, links resolved.
Result<std::string> PreloadLibrary();

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_PLACES_H_
