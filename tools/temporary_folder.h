// SPDX-License-Identifier: Apache-2.0

// Folders in $TMPDIR (else /tmp) that are removed when the process ends.
//
// Thread-safety: one thread.

#ifndef XLATRACE_TOOLS_TEMPORARY_FOLDER_H_
#define XLATRACE_TOOLS_TEMPORARY_FOLDER_H_

#include <string>

#include "base/error.h"

namespace xlatrace::tools {

// Creates a folder that only its user may enter.
Result<std::string> MakeTemporaryFolder();

// Whether MakeTemporaryFolder made the folder of `path`.
bool LiesInTemporaryFolder(const std::string& path);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_TEMPORARY_FOLDER_H_
