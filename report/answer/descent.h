// SPDX-License-Identifier: Apache-2.0

// The largest part of a whole, found by descent in the time tree.
//
// The descent starts at a node. It goes to the largest part as long as this part is larger than
// every sibling and every sibling of its ancestors. A computation is divided by the column (op
// kind, phase, layer group, source line or op) whose largest part is largest. This part is then
// divided by the other columns. If the two largest parts cannot be separated and make up most of
// their whole, both are named.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_REPORT_ANSWER_DESCENT_H_
#define XLATRACE_REPORT_ANSWER_DESCENT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/answer/time_nodes.h"

namespace xlatrace::report {

// Larger sums of ops are identified by their columns only.
inline constexpr size_t kMaxNodeIdsPerPart = 100;

// A node, or the sum of the ops of a computation that have the same value in a column.
struct TimePart {
  std::vector<size_t> nodes;      // Positions in TimeNodes.
  std::vector<int64_t> node_ids;  // Ids of the first kMaxNodeIdsPerPart nodes.
  std::string kind, name;         // `kind` of a sum is "computation".
  // Values that all ops of the part have in common; empty: the values differ or are not known.
  std::string op_kind, phase, layer_group, source_file, handle;
  std::optional<int64_t> source_line;
  std::string divided_by;           // The column of a sum: "phase".
  int64_t ns = 0;                   // In the unit of the descent: per step or in the whole run.
  int64_t low_ns = 0, high_ns = 0;  // Quartiles over steps, or `ns` if there are no steps.
};

struct Descent {
  std::vector<TimePart> path;  // The first is the whole, the last is the largest part.
  size_t main = 0;  // Position of the last part of the path that, like all parts before it, has at
                    // least half of its whole.
  // A part that cannot be separated from the last part of the path.
  std::optional<TimePart> beside;
  // The largest part of the last part of the path, if that has parts.
  std::optional<TimePart> largest_inside;
  std::optional<TimePart> largest_op;  // The largest op of MainOf, if that is computation.
};

// The part that the first sentence is about.
const TimePart& MainOf(const Descent& descent);

enum class TimeUnit { kRun, kStep };

// Time below a node in which other programs had the CPU, per step.
int64_t ContentionPerStep(const TimeNodes& tree, size_t position);

// Descends from `start` in amounts per step without contention. `first`: the child of `start` to
// descend to first; nullopt: no child is preferred.
Descent DescendFrom(const TimeNodes& tree, size_t start, TimeUnit unit,
                    std::optional<size_t> first = {});

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_ANSWER_DESCENT_H_
