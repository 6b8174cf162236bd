// SPDX-License-Identifier: Apache-2.0

// Reports of Nsight Systems (.nsys-rep, .qdrep), which only its own program `nsys` can read.
//
// Thread-safety: one thread.

#ifndef XLATRACE_TOOLS_NSIGHT_REPORT_H_
#define XLATRACE_TOOLS_NSIGHT_REPORT_H_

#include <string>

#include "base/error.h"

namespace xlatrace::tools {

// True if the file at `path` is such a report and `nsys` is on PATH.
bool IsExportableReport(const std::string& path);

// Runs `nsys export` into a temporary folder; its output goes to standard error. Returns the path
// of the SQLite export.
Result<std::string> ExportReport(const std::string& path);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_NSIGHT_REPORT_H_
