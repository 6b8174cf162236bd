// SPDX-License-Identifier: Apache-2.0

// Intervals in which a process compiled. Each interval is one compilation.
//
// TensorFlow traces a function, lowers it (without an event) and compiles it with XLA. If the time
// between tracing and compiling is at most as long as both, all of it is one compilation.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_ANALYSIS_COMPILE_TIMES_H_
#define XLATRACE_ANALYSIS_COMPILE_TIMES_H_

#include <vector>

#include "analysis/intervals.h"
#include "model/run_tables.h"

namespace xlatrace::analysis {

// Normalised. Spans of other processes are ignored. If the source records every pass of a
// compilation, a span within another span does not count again.
Intervals CompileTimes(const std::vector<model::CompileSpan>& spans, model::Id process_id);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_COMPILE_TIMES_H_
