// SPDX-License-Identifier: Apache-2.0

// The time of ops, divided over their op_names, layers, phases and source lines.
//
// Thread-safety: one thread per RunDb.

#ifndef XLATRACE_REPORT_SHARE_TIMES_H_
#define XLATRACE_REPORT_SHARE_TIMES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/words.h"
#include "report/run_view.h"
#include "store/run_db.h"

namespace xlatrace::report {

// A part of an op's time.
struct ShareTime {
  size_t op = 0;   // Index into the view's ops.
  int64_t ns = 0;  // Basis of the view, all devices; never 0.
  model::Phase phase = model::Phase::kUnknown;
  std::string op_name, layer, layer_group, source_file;
  std::optional<int64_t> source_line;
  int64_t stack_id = 0;  // 0: none.
  bool is_part = false;  // The op has other parts.
};

// The parts of one op sum to its time.
Result<std::vector<ShareTime>> LoadShareTimes(store::RunDb& db, const RunView& view);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_SHARE_TIMES_H_
