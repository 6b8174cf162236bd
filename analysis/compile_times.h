// SPDX-License-Identifier: Apache-2.0

// When a process compiled, as intervals of which each is one compilation.
//
// TensorFlow traces a function, lowers it (which no event shows) and has XLA compile it: where the
// time between is no longer than both, all of it is one compilation.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_ANALYSIS_COMPILE_TIMES_H_
#define XLATRACE_ANALYSIS_COMPILE_TIMES_H_

#include <vector>

#include "analysis/intervals.h"
#include "model/run_tables.h"

namespace xlatrace::analysis {

// Normalised; spans of other processes are ignored. A source may give every pass of a compilation:
// what lies within another span counts once.
Intervals CompileTimes(const std::vector<model::CompileSpan>& spans, model::Id process_id);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_COMPILE_TIMES_H_
