// SPDX-License-Identifier: Apache-2.0

// Finds modules of a dump folder by number or name.
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

// Indices of the modules that `wanted` selects. It may be a number, a name, a function or a part of
// a name; the first kind with a match counts. Without a match an error, whose hint lists some
// modules.
Result<std::vector<size_t>> FindDumpModules(const dumps::DumpDir& dir, const std::string& wanted);

// Finds one module. If several match and only one of them has dumps of passes, that one is
// returned. Otherwise several matches are an error that lists them.
Result<size_t> FindDumpModule(const dumps::DumpDir& dir, const std::string& wanted);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_DUMP_MODULES_H_
