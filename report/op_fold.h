// SPDX-License-Identifier: Apache-2.0

// Joins rows: unrolled copies of one instruction ("custom-call.75.0 x8"), and one instruction of a
// program that several processes run.
//
// XLA gives every layer of an unrolled model its own instructions. Copies are instructions of one
// module whose name, op_name and layer differ in numbers only. Kind, phase, source line and
// direction of copies are equal, and none takes less than a tenth of the largest. (Smaller ones are
// a row of their own.) An instruction without op_name is folded across processes only. Programs are
// equal if their fingerprints are.
//
// Thread-safety: re-entrant. The result points into the view.

#ifndef XLATRACE_REPORT_OP_FOLD_H_
#define XLATRACE_REPORT_OP_FOLD_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/run_view.h"

namespace xlatrace::report {

struct FoldedOp {
  const OpFigure* op = nullptr;  // The op with the most time; the row has its handle.
  // Number of instructions. An instruction that several processes run counts once.
  int64_t copies = 1;
  int64_t ops = 1;  // Ops of the view.
  int64_t ns = 0;
  int64_t calls = 0;                  // 0: unknown.
  int64_t least_ns = 0, most_ns = 0;  // Shortest and longest copy.
  bool exact = true;                  // True: all labels are exact.
  std::string bound_by;
  // Sum of time times the reached share of its roof, over ops with a known share.
  double peak_ns = 0;
  int64_t rated_ns = 0;
  double critical_ns = 0;  // Time of the same copies on the critical path.
  int64_t replayed_ns = 0;
};

// The number of its fold for every op of the view; equal for copies of one instruction.
std::vector<size_t> FoldRows(const RunView& view);

// By time.
std::vector<FoldedOp> FoldOps(const RunView& view);

// "fusion.12" -> "fusion", "custom-call.75.0" -> "custom-call".
std::string_view InstructionStem(std::string_view instruction);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_OP_FOLD_H_
