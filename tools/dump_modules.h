// SPDX-License-Identifier: Apache-2.0

// Finds the module of a dump folder that somebody means.
//
// Thread-safety: pure.

#ifndef XLATRACE_TOOLS_DUMP_MODULES_H_
#define XLATRACE_TOOLS_DUMP_MODULES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "base/error.h"
#include "dumps/dump_dir.h"

namespace xlatrace::tools {

// Indices of the modules that `wanted` names: a number, else a name, a function, or part of a name,
// the first of these that gives any. An error when there is none; the hint lists some.
Result<std::vector<size_t>> FindDumpModules(const dumps::DumpDir& dir, const std::string& wanted);

// The same where only one is wanted: of several the one with the most dumps, when the others have
// no passes; else an error that lists them.
Result<size_t> FindDumpModule(const dumps::DumpDir& dir, const std::string& wanted);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_DUMP_MODULES_H_
