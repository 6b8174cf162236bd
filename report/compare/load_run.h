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
  // Totals of the whole run although it has steady steps: the other side has none.
  bool whole_run = false;
};

Result<compare::Run> LoadCompareRun(store::RunDb& db, const RunView& view,
                                    const LoadRunOptions& options = {});

// Two open runs, both of the same basis, with the HLO that matching them takes.
struct RunPair {
  compare::Run base, now;
};
Result<RunPair> LoadRunPair(store::RunDb& base_db, const RunView& base_view, store::RunDb& now_db,
                            const RunView& now_view);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_COMPARE_LOAD_RUN_H_
