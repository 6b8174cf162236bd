// SPDX-License-Identifier: Apache-2.0

// Places of the parts of an installation, relative to the program, so that a prefix can be moved.

#ifndef XLATRACE_TOOLS_PLACES_H_
#define XLATRACE_TOOLS_PLACES_H_

#include <string>

#include "base/error.h"

namespace xlatrace::tools {

// Folder with the Python hook (sitecustomize.py), relative to this program: ../share/xlatrace/hook.
// XLATRACE_HOOK_PATH overrides it.
Result<std::string> HookFolder();

// The library to preload, libxlatrace.so: ../lib relative to this program, or the library folders
// of distributions. XLATRACE_LIB overrides it. Absolute, links resolved.
Result<std::string> PreloadLibrary();

// The library with which the Python hook samples stacks, libxlatrace_stacks.so, in the folder of
// libxlatrace.so. Empty: the installation has none.
std::string StacksLibrary();

// A path to `library` that is valid in LD_PRELOAD. A path with a blank or a colon is not. In this
// case the result is a link in TMPDIR/xlatrace-UID, or in /tmp if TMPDIR also has a blank. The link
// is kept, and no other user can replace it. libxlatrace.so finds the collector through the link.
Result<std::string> PreloadName(const std::string& library);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_PLACES_H_
