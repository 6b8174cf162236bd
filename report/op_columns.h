// SPDX-License-Identifier: Apache-2.0

// Name and place of an instruction of op_time: columns of the view of a run and of a comparison
// (docs/schema.md, `op_time`).
//
// Thread-safety: pure.

#ifndef XLATRACE_REPORT_OP_COLUMNS_H_
#define XLATRACE_REPORT_OP_COLUMNS_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "report/shown_words.h"
#include "store/run_db.h"

namespace xlatrace::report {

// Columns to be selected from op_time before other columns.
inline constexpr std::string_view kOpColumns =
    "handle, module_id, op AS instruction, category, op_kind, phase, layer, layer_group, op_name,"
    " source_file, source_line, self_ns, steady_ns, occurrences, library_file, library_line, "
    "stack_id";

// `Figure`: OpFigure or compare::Op.
template <typename Figure>
void ReadOpColumns(const store::Table& rows, size_t row, Figure& op) {
  op.handle = rows.Text(row, "handle");
  op.category = rows.Text(row, "category");
  op.op_kind = rows.Text(row, "op_kind");
  op.phase = PhaseOrUnknown(rows.Text(row, "phase"));
  op.layer = rows.Text(row, "layer");
  op.layer_group = rows.Text(row, "layer_group");
  op.op_name = rows.Text(row, "op_name");
  op.source_file = rows.Text(row, "source_file");
  if (!rows.IsNull(row, "source_line")) op.source_line = rows.Int(row, "source_line");
  if constexpr (requires { op.stack_id; }) {
    op.library_file = rows.Text(row, "library_file");
    if (!rows.IsNull(row, "library_line")) op.library_line = rows.Int(row, "library_line");
    op.stack_id = rows.Int(row, "stack_id");
  }
}

// Calls of an op from its launches, counted as in op_time. Several kernels of one library run count
// as one call. Several launches inside a thunk with its own name do, too. `launches_of_run`:
// launches in the whole run.
inline int64_t CallsOfLaunches(int64_t launches, int64_t launches_of_run, int64_t occurrences) {
  if (launches <= 0 || occurrences <= 0 || occurrences >= launches_of_run) return launches;
  return std::max<int64_t>(
      1, std::llround(static_cast<double>(launches) * static_cast<double>(occurrences) /
                      static_cast<double>(launches_of_run)));
}

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_OP_COLUMNS_H_
