// SPDX-License-Identifier: Apache-2.0

// `summary --gpu NAME`: what the launches of a run would meet on another GPU.
//
// From what run.db stores: the occupancy of every kernel on the other GPU, what would bound each op
// there, and how long it would take when it came as close to the roof as it does here. Where the
// recording names no GPU, the run is taken to come from the one that is named, and the roofline is
// the real one. These are estimates of a model: clocks, caches and kernels that libraries choose
// anew are not in it.
// Thread-safety: one thread per RunDb.

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
