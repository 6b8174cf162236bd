// SPDX-License-Identifier: Apache-2.0

// A trace in the place of a run.db: imported into a run.db in a temporary folder, which is removed
// when the process ends.
//
// Thread-safety: one thread.

#ifndef XLATRACE_TOOLS_TRACE_RUN_H_
#define XLATRACE_TOOLS_TRACE_RUN_H_

#include <optional>
#include <string>

#include "base/error.h"

namespace xlatrace::tools {

// Whether `path` is a file, a capture or a log folder that `import` reads. Recordings of xlatrace
// are none.
bool IsTrace(const std::string& path);

// Imports the trace at `path` and reports that on standard error. Returns the path of the temporary
// run.db. Fails as `import` does.
Result<std::string> ImportTemporarily(const std::string& path);

// The path that a default output is named after: `run`, or the trace that the user gave (`given`)
// where ImportTemporarily made `run`.
std::string NameForOutput(const std::string& run, const std::string& given);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_TRACE_RUN_H_
