// SPDX-License-Identifier: Apache-2.0

// The requested change of `what-if`, as command-line words and as a change of the graph.

#ifndef XLATRACE_TOOLS_WHAT_IF_CHANGE_H_
#define XLATRACE_TOOLS_WHAT_IF_CHANGE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/replay/what_if.h"
#include "base/error.h"
#include "store/run_db.h"
#include "tools/loaded_run.h"

namespace xlatrace::tools {

struct WhatIfWords {
  std::vector<std::string> ops, kernels, without;
  std::string gaps;  // A cause, "all"; empty: they stay.
  std::string collective_bandwidth;
  std::string copies;
  bool early_collectives = false;
  bool one_launch = false;
  bool no_recompute = false;
};

// Present memory of the program, and its upper bound after the change.
struct MemoryChange {
  int64_t now_bytes = 0;
  int64_t at_most_bytes = 0;
  bool from_assignment = false;  // True: the value of XLA; false: an estimate from live ranges.
};

struct WhatIfChange {
  analysis::replay::Change change;
  std::optional<MemoryChange> memory;  // Empty: not requested, or not known.
  std::vector<std::string> sentences;  // One sentence per word of the command line.
};

// Ops by handle, by name (of the main module if several modules have the name) or by "module/name";
// kernels by handle or name. An error names the unknown op or kernel and a command to type.
Result<WhatIfChange> ReadChange(store::RunDb& db, const LoadedRun& loaded,
                                const WhatIfWords& words);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_WHAT_IF_CHANGE_H_
