// SPDX-License-Identifier: Apache-2.0

// `summary --gpu NAME`: a prediction for the launches of a run on another GPU.
//
// Estimates from run.db: occupancy of every kernel, the limit of each op, and its time at the same
// distance from the roof. If the recording names no GPU, the given GPU is assumed to be the
// recorded one. Then the roofline is that of the run. The model ignores clocks, caches and other
// kernels that libraries would choose. Thread-safety: one thread per RunDb.

#ifndef XLATRACE_REPORT_OTHER_GPU_H_
#define XLATRACE_REPORT_OTHER_GPU_H_

#include <cstddef>
#include <string>

#include "report/show/show.h"
#include "store/run_db.h"

namespace xlatrace::report {

// `options.gpu` must not be null. `rows`: of the table in text (0: 25), JSON has all.
Result<std::string> SummaryOnGpu(store::RunDb& db, const ShowOptions& options, size_t rows = 0);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_OTHER_GPU_H_
