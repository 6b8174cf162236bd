// SPDX-License-Identifier: Apache-2.0

// A copy of a run.db, packed tight; on request with every text of it replaced, for files that leave
// the house.
//
// The copy is written page by page from live rows only: no free page, no slack and no index of it
// holds bytes of the original. Which column holds what kind of text is one table in run_copy.cc; a
// text column that is not in it (a newer one) is emptied, and a test compares it with the schema.
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
  kName,      // Of an instruction, computation, module, process, host, thread.
  kNameList,  // Several of them: "a, b".
  kPath,      // Components: op_name, layer, source file.
  kKernel,    // Symbol or short name of a kernel.
  kCall,      // Name of an API call.
};

// What stands for a text in the copy. Never empty for one that is not.
using RenameText = std::function<std::string(TextKind kind, std::string_view text)>;

// `to`: a place that is free; removed again on errors. `rename` may be empty: a plain copy.
// With it, these go altogether: HLO and thunk lists of modules, command lines, paths of modules,
// texts of ranges, sentences of findings, of causes of gaps and of run stats, keys of run_info that
// may name something.
Status CopyRun(const std::string& from, const std::string& to, const RenameText& rename);

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_RUN_COPY_H_
