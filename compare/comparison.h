// SPDX-License-Identifier: Apache-2.0

// Two runs side by side: which op is which, what changed, and why.
//
// Gets two runs as rows; gives rows that hold every op of both sides exactly once, so that each
// side sums to its device time to the nanosecond, and the comparison of A with B is that of B with
// A with the signs turned.
//
// Matching, level by level; what a level leaves over goes to the next:
// - fingerprint: the same module, instructions by name;
// - program: modules of one function, by content (instruction_match.h), one for one or in groups;
//   of a function that one side compiled several times each program goes with the other side's;
// - name: the same op_name and kind of work;
// - scope: the same kind of work, layer group and phase, all of one side with all of the other;
// - kernel: work without an instruction, by the same kernel or family of kernels;
// - none: a row of its own, lost or new.
//
// Thread-safety: pure.

#ifndef XLATRACE_COMPARE_COMPARISON_H_
#define XLATRACE_COMPARE_COMPARISON_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compare/identity.h"
#include "compare/run_rows.h"

namespace xlatrace::compare {

enum class Level : uint8_t { kFingerprint, kProgram, kName, kScope, kKernel, kNone };
std::string_view Text(Level level);

// Why a row changed. `certain` ones do not depend on time: counts, bytes, kernels, fusions.
enum class CauseKind : uint8_t {
  kLost,   // Base only.
  kNew,    // New only.
  kSplit,  // Fewer launched instructions did the same work.
  kMerged,
  kRegrouped,   // Several became several others.
  kRecomputed,  // New, and its phase is recompute.
  kLayoutCopy,  // New copy or transpose.
  kExecutions,  // More or fewer executions a step.
  kPrecision,   // Another element type.
  kShapes,      // Other dimensions.
  kWork,        // Other bytes or FLOPs at the same shapes.
  kKernel,      // Another kernel, tile or algorithm.
  kLaunch,      // Another launch configuration, or occupancy.
  kLayout,      // Another layout.
  kCollective,  // Another number of bytes, or combined otherwise.
  kTime,        // Slower or faster at equal work.
};
std::string_view Text(CauseKind kind);

struct Cause {
  CauseKind kind = CauseKind::kTime;
  std::string text;  // With its evidence: "24 executions a step instead of 12".
  bool certain = true;
};

struct Row {
  std::vector<size_t> base, now;  // Into Run::ops; each op is in exactly one row.
  Level level = Level::kNone;
  int64_t base_ns = 0, now_ns = 0;
  double base_calls = 0, now_calls = 0;  // Per step.
  std::vector<Cause> causes;             // The weightiest first; empty: nothing changed.

  int64_t delta() const { return now_ns - base_ns; }
};

struct Comparison {
  Identity identity;
  std::vector<Row> rows;  // The largest change first.
  int64_t base_device_ns = 0, now_device_ns = 0;
  int64_t base_step_ns = 0, now_step_ns = 0;       // 0 both: no steps to compare.
  std::vector<std::pair<size_t, size_t>> modules;  // Which goes with which.

  int64_t delta() const { return now_device_ns - base_device_ns; }
};

Comparison Compare(const Run& base, const Run& now);

// The side's op that stands for a row: the one with most time. Null: the side has none.
const Op* LargestOf(const Run& run, const std::vector<size_t>& ops);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_COMPARISON_H_
