// SPDX-License-Identifier: Apache-2.0

// A run.db as the rows that component compare/ needs (compare/run_rows.h).
//
// Thread-safety: one thread per RunDb.

#ifndef XLATRACE_REPORT_COMPARE_LOAD_RUN_H_
#define XLATRACE_REPORT_COMPARE_LOAD_RUN_H_

#include "base/error.h"
#include "compare/run_rows.h"
#include "report/run_view.h"
#include "store/run_db.h"

namespace xlatrace::report {

struct LoadRunOptions {
  // Use totals of the whole run despite its steady steps, because the other run has none.
  bool whole_run = false;
};

Result<compare::Run> LoadCompareRun(store::RunDb& db, const RunView& view,
                                    const LoadRunOptions& options = {});

// Loads two open runs on the same basis, with the HLO that their matching needs.
struct RunPair {
  compare::Run base, now;
};
Result<RunPair> LoadRunPair(store::RunDb& base_db, const RunView& base_view, store::RunDb& now_db,
                            const RunView& now_view);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_COMPARE_LOAD_RUN_H_
