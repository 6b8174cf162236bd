// SPDX-License-Identifier: Apache-2.0
#include "tools/written_analysis.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "correlator/correlator.h"

namespace xlatrace::tools {

Result<Derived> Derive(store::RunBuilder& builder) {
  Derived derived;
  ParsedModules modules(builder);
  XLATRACE_ASSIGN(derived.attribution,
                  correlator::Attribute(builder.tables(), modules.ForCorrelator()));
  builder.Learn(derived.attribution);
  derived.analysis = AnalyzeWritten(builder, derived.attribution, modules);
  builder.Learn(derived.analysis);
  return derived;
}

model::AnalysisTables AnalyzeWritten(const store::RunBuilder& builder,
                                     model::AttributionTables& attribution, ParsedModules& modules,
                                     const analysis::KnownParts* known) {
  const model::RunTables& run = builder.tables();
  analysis::AnalysisOptions options;
  options.known = known;
  options.compiles = run.compiles;
  // What is known to be missing from between two windows is in nobody's way there.
  options.lost_records = builder.LostRecords();
  for (const model::Loss& loss : run.losses) options.lost_records -= loss.at_least;
  options.lost_records = std::max<int64_t>(options.lost_records, 0);
  options.host_events = [&](const analysis::Intervals& within) {
    std::vector<std::pair<int64_t, int64_t>> times;
    for (const analysis::Interval& interval : within) {
      times.emplace_back(interval.start_ns, interval.end_ns);
    }
    return builder.HostEvents(times);
  };
  options.call_of = [&](size_t activity) { return builder.CallOf(activity); };
  return analysis::Analyze(run, attribution, modules.ForAnalysis(), options);
}

}  // namespace xlatrace::tools
