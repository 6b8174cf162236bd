// SPDX-License-Identifier: Apache-2.0

// `show MODULE run.db --sequence`: the thunks of a module in the order of their schedule, beside
// the launches of one execution.
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
  // execution_id; nullopt: the first complete execution, or else the first one.
  std::optional<int64_t> execution;
  int width = 100;
  bool why = false;  // Prints below each launch that is not exact the reason why.
};

// Text with one line per thunk or launch. Marks: '-' a thunk without a record, '+' a launch without
// a thunk. '^' marks the next iteration of a loop, and '<' a launch out of the schedule's order.
// The last column has the evidence of every launch. With `why`, the deciding doubt is below the
// launch. `module`: a handle (m1), a module_id or a name.
Result<std::string> ShowSequence(store::RunDb& db, std::string_view module,
                                 const SequenceOptions& options);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_SHOW_SEQUENCE_H_
