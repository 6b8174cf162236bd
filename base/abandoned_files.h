// SPDX-License-Identifier: Apache-2.0

// Temporary files that killed processes left behind.
//
// A command writes PATH.tmp.PID beside its output PATH and renames it at the end. A killed command
// leaves this file. The next command that writes PATH removes it.

#ifndef XLATRACE_BASE_ABANDONED_FILES_H_
#define XLATRACE_BASE_ABANDONED_FILES_H_

#include <string>

namespace xlatrace {

// Removes regular files `path`.tmp.PID, and SQLite's journals of them, if this machine has no
// process PID. Links and folders stay. Ignores errors. A process of another machine or container
// that writes the same `path` at this moment may lose its file; its rename then fails.
void RemoveAbandonedFiles(const std::string& path);

}  // namespace xlatrace

#endif  // XLATRACE_BASE_ABANDONED_FILES_H_
