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

// The library with which the Python hook samples stacks, libxlatrace_stacks.so, where
// libxlatrace.so is. Empty: this installation has none.
std::string StacksLibrary();

// A path to `library` that LD_PRELOAD can name. LD_PRELOAD cannot name a path with a blank or a
// colon. The result is then a link in TMPDIR/xlatrace-UID, or in /tmp if TMPDIR has a blank, too.
// The link is kept, and no other user can replace it. libxlatrace.so finds the collector through
// the link.
Result<std::string> PreloadName(const std::string& library);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_PLACES_H_
