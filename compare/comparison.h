// SPDX-License-Identifier: Apache-2.0

// Comparison of two runs: matching of ops, changes, and causes.
//
// Input: two runs as rows. Output: rows that contain every op of both sides exactly once, so each
// side sums exactly to its device time. The reverse comparison only changes the signs.
//
// Levels of matching; each uses the unmatched ops of the previous level:
//
//   fingerprint  the same module, instructions by name
//   program      modules of one function, by content (instruction_match.h), one or several;
//                if one side compiled a function several times, each program is matched with those
//                of the other side
//   name         the same op_name and kind of work
//   scope        the same kind of work, layer group and phase, all together
//   kernel       work without an instruction, by kernel or family of kernels
//   none         a separate row, lost or new
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

// Causes of a changed row. `certain` causes do not depend on time: counts, bytes, kernels, fusions.
enum class CauseKind : uint8_t {
  kLost,   // Base only.
  kNew,    // New only.
  kSplit,  // Fewer launched instructions did the same work.
  kMerged,
  kRegrouped,   // Several instructions were replaced by several others.
  kRecomputed,  // New, and its phase is recompute.
  kLayoutCopy,  // New copy or transpose.
  kExecutions,  // More or fewer executions per step.
  kPrecision,   // Another element type.
  kShapes,      // Other dimensions.
  kWork,        // Other bytes or FLOPs at the same shapes.
  kKernel,      // Another kernel, tile or algorithm.
  kLaunch,      // Another launch configuration, or occupancy.
  kLayout,      // Another layout.
  kCollective,  // Other bytes, or combined differently.
  kTime,        // Slower or faster at equal work.
};
std::string_view Text(CauseKind kind);

struct Cause {
  CauseKind kind = CauseKind::kTime;
  std::string text;  // With its evidence: "24 executions a step instead of 12".
  bool certain = true;
};

struct Row {
  std::vector<size_t> base, now;  // Indices in Run::ops; each op is in exactly one row.
  Level level = Level::kNone;
  int64_t base_ns = 0, now_ns = 0;
  double base_calls = 0, now_calls = 0;  // Per step.
  std::vector<Cause> causes;             // Ordered by weight; empty: nothing changed.

  int64_t delta() const { return now_ns - base_ns; }
};

struct Comparison {
  Identity identity;
  std::vector<Row> rows;  // Sorted by change, largest first.
  int64_t base_device_ns = 0, now_device_ns = 0;
  int64_t base_step_ns = 0, now_step_ns = 0;       // Both 0: no steps to compare.
  std::vector<std::pair<size_t, size_t>> modules;  // Matched modules.
  // All of the work has a counterpart with the same instructions and inputs, or without HLO, with
  // the same kernels.
  bool same_program = false;

  int64_t delta() const { return now_device_ns - base_device_ns; }
};

Comparison Compare(const Run& base, const Run& now);

// The largest op of a side of a row; null if the side has none.
const Op* LargestOf(const Run& run, const std::vector<size_t>& ops);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_COMPARISON_H_
