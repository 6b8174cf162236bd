// SPDX-License-Identifier: Apache-2.0

// `show MODULE run.db --sequence`: the thunks of a module in the order of their schedule, beside
// what one of its executions launched.
//
// Thread-safety: one thread per RunDb.

#ifndef XLATRACE_TOOLS_SHOW_SEQUENCE_H_
#define XLATRACE_TOOLS_SHOW_SEQUENCE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "store/run_db.h"

namespace xlatrace::tools {

struct SequenceOptions {
  std::optional<int64_t> execution;  // execution_id; else the first complete one, else the first.
  int width = 100;
  bool why = false;  // Below each launch that is not exact, what stood against it.
};

// Text, one line per thunk or launch. Marks: '-' a thunk that left no record, '+' a launch that is
// no thunk's, '^' the next round of a loop, '<' a launch that is out of the schedule's order. The
// evidence of every launch is in the last column; where it is wanted, the doubt that decided stands
// below. `module`: a handle (m1), a module_id or a name.
Result<std::string> ShowSequence(store::RunDb& db, std::string_view module,
                                 const SequenceOptions& options);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_SHOW_SEQUENCE_H_
