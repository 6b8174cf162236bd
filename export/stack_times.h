// SPDX-License-Identifier: Apache-2.0

// Device time by stack, for flame graphs. A stack has the Python frames that traced the program,
// then the scopes of its op_name, then the instruction; outermost first.
//
// Time is self_ns, divided over the parts of a fusion (analysis/time_split.h). The times of all
// stacks sum exactly to the run's device time, and those of an op_name to scope_time. Memory: one
// entry per distinct stack. Thread-safety: one thread.

#ifndef XLATRACE_EXPORT_STACK_TIMES_H_
#define XLATRACE_EXPORT_STACK_TIMES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "export/run_rows.h"
#include "model/derived.h"
#include "model/words.h"

namespace xlatrace::exporter {

struct StackTime {
  int64_t process_id = 0;
  model::Phase phase = model::Phase::kUnknown;
  std::string module;               // Empty: of none.
  std::string op_name;              // Empty: not known.
  std::string leaf;                 // The instruction, or without one the kernel.
  std::string unattributed_reason;  // Empty if there is an instruction.
  std::string source_file;
  std::optional<int64_t> source_line;
  std::vector<model::SourcePlace> calls;  // The Python frames, outermost first; may be empty.
  int64_t self_ns = 0;
  int64_t launches = 0;  // Number of activities. A divided activity counts for its largest part.

  struct Frame {
    std::string name;
    std::string file;  // Empty: the frame has no line.
    int64_t line = 0;
    std::string function = {};  // A Python frame's name without the line.
  };
  // Module, Python frames ("call model.py:7"), components of the op_name, leaf. Unknown parts are
  // replaced by a placeholder. The leaf has the user's line.
  std::vector<Frame> Frames() const;
};

// By process, then in the order of their frames, so that equal runs give equal lists.
Result<std::vector<StackTime>> SumStacks(const RunRows& run);

// The components of "jit(f)/transpose(jvp(g/h))/mul". A '/' inside parentheses does not separate.
std::vector<std::string_view> OpNameComponents(std::string_view op_name);

}  // namespace xlatrace::exporter

#endif  // XLATRACE_EXPORT_STACK_TIMES_H_
