// SPDX-License-Identifier: Apache-2.0
#include "analysis/compile_times.h"

#include <algorithm>
#include <utility>

namespace xlatrace::analysis {

Intervals CompileTimes(const std::vector<model::CompileSpan>& spans, model::Id process_id) {
  Intervals compiles, traced;
  for (const model::CompileSpan& span : spans) {
    if (span.process_id != process_id) continue;
    (span.tracing ? traced : compiles).push_back({span.start_ns, span.end_ns});
  }
  compiles = Normalise(std::move(compiles));
  Intervals joined = compiles;
  for (Interval trace : Normalise(std::move(traced))) {
    const auto next = std::lower_bound(
        compiles.begin(), compiles.end(), trace.end_ns,
        [](const Interval& compile, int64_t time_ns) { return compile.start_ns < time_ns; });
    const bool compiled =
        next != compiles.end() && next->start_ns - trace.end_ns <=
                                      trace.end_ns - trace.start_ns + next->end_ns - next->start_ns;
    if (compiled) trace.end_ns = next->end_ns;
    joined.push_back(trace);
  }
  return Normalise(std::move(joined));
}

}  // namespace xlatrace::analysis
