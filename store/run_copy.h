// SPDX-License-Identifier: Apache-2.0

// A compact copy of a run.db; on request with every text replaced, for files to be shared.
//
// The copy is written page by page from live rows only: no free page, slack or index contains bytes
// of the original. One table in run_copy.cc lists the kind of text of each column. A text column
// that is missing there (a newer one) is emptied, and a test compares the table with the schema.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_STORE_RUN_COPY_H_
#define XLATRACE_STORE_RUN_COPY_H_

#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace xlatrace::store {

enum class TextKind {
  kName,      // Name of an instruction, computation, module, process, host or thread.
  kNameList,  // Several names: "a, b".
  kPath,      // Components: op_name, layer, source file.
  kKernel,    // Symbol or short name of a kernel.
  kCall,      // Name of an API call.
};

// Returns the replacement of a text. Never empty for a text that is not empty.
using RenameText = std::function<std::string(TextKind kind, std::string_view text)>;

// `to`: a path without a file; removed again on errors. An empty `rename` makes a plain copy. With
// `rename`, the following data is removed: HLO and thunk lists of modules, command lines, paths of
// modules, texts of ranges, and sentences of findings, gap causes and run stats. Keys of run_info
// that may contain names are removed, too.
Status CopyRun(const std::string& from, const std::string& to, const RenameText& rename);

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_RUN_COPY_H_
