// SPDX-License-Identifier: Apache-2.0

// Device time by source line and by call stack of the user.
//
// A line has two times: its own time (of ops whose user's line it is) and its inclusive time (of
// all ops called from it). Own times sum to the added time. Only the user's frames count. A stack
// without such frames counts for the one line that represents the stack.
//
// Thread-safety: one thread per RunDb; the results are plain data.

#ifndef XLATRACE_REPORT_SOURCE_FIGURES_H_
#define XLATRACE_REPORT_SOURCE_FIGURES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "model/words.h"
#include "report/run_view.h"
#include "store/run_db.h"

namespace xlatrace::report {

// All call stacks of a run.
class SourceStacks {
 public:
  struct Frame {
    std::string file, function;
    std::optional<int64_t> line;
    bool is_user = false;
    bool is_source = false;  // The user's line.
  };
  using Stack = std::vector<Frame>;  // Innermost first.

  static Result<SourceStacks> Load(store::RunDb& db);

  // Empty if there is no such stack.
  const Stack& Of(int64_t stack_id) const;
  // True if the frame is in the given file: "model.py", a path, or whole last components of a path.
  // With `line`, the line must match, too.
  static bool IsIn(const Frame& frame, std::string_view file, std::optional<int64_t> line = {});

 private:
  std::unordered_map<int64_t, Stack> stacks_;
};

class SourceFigures {
 public:
  explicit SourceFigures(const SourceStacks& stacks) : stacks_(stacks) {}

  // `stack_id` 0: no line is known.
  void Add(int64_t stack_id, model::Phase phase, int64_t ns, bool estimated);

  // By descending own time. If one line has more than nine tenths of the time, its rows are
  // replaced by the next inner frames, repeatedly (ScopeFigure::via).
  std::vector<ScopeFigure> Lines() const;
  // The tree of the user's frames, parents before children, siblings by time.
  std::vector<StackFigure> Tree() const;

 private:
  struct Sums {
    int64_t ns = 0, estimated_ns = 0;
    PhaseTimes phases{};
  };
  std::map<int64_t, Sums> by_stack_;
  const SourceStacks& stacks_;
};

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_SOURCE_FIGURES_H_
