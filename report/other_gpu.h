// SPDX-License-Identifier: Apache-2.0

// `summary --gpu NAME`: what the launches of a run would meet on another GPU.
//
// Estimates for another GPU from run.db: occupancy of every kernel, the limit of each op, and its
// time at the same distance from the roof. If the recording names no GPU, the named one is assumed,
// and the roofline is the real one. The model leaves out clocks, caches and kernels that libraries
// would choose anew. Thread-safety: one thread per RunDb.

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
