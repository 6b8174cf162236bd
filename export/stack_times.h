// SPDX-License-Identifier: Apache-2.0

// Device time by stack, for flame graphs: the scopes of the program from the outside in, with the
// instruction at the end.
//
// Time is self_ns, split over what a fusion holds as everywhere (analysis/time_split.h): the times
// of all stacks sum to the run's device time, and those of an op_name are scope_time's, to the
// nanosecond. Memory: one entry per distinct stack. Thread-safety: one thread.

#ifndef XLATRACE_EXPORT_STACK_TIMES_H_
#define XLATRACE_EXPORT_STACK_TIMES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "export/run_rows.h"
#include "model/words.h"

namespace xlatrace::exporter {

struct StackTime {
  int64_t process_id = 0;
  model::Phase phase = model::Phase::kUnknown;
  std::string module;               // Empty: of none.
  std::string op_name;              // Empty: not known.
  std::string leaf;                 // Instruction; without one the kernel.
  std::string unattributed_reason;  // Empty where there is an instruction.
  std::string source_file;
  std::optional<int64_t> source_line;
  int64_t self_ns = 0;
  int64_t launches = 0;  // Activities; of a split one, those whose largest part this is.

  // Module, components of the op_name, leaf; what stands for them where they are not known.
  std::vector<std::string> Frames() const;
};

// By process, then in the order of their frames: equal runs give equal lists.
Result<std::vector<StackTime>> SumStacks(const RunRows& run);

// "jit(f)/transpose(jvp(g/h))/mul": its components, with / inside parentheses left alone.
std::vector<std::string_view> OpNameComponents(std::string_view op_name);

}  // namespace xlatrace::exporter

#endif  // XLATRACE_EXPORT_STACK_TIMES_H_
