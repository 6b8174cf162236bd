// SPDX-License-Identifier: Apache-2.0
#include "tools/written_analysis.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "analysis/memory/run_memory.h"
#include "correlator/correlator.h"
#include "tools/user_code_option.h"

namespace xlatrace::tools {
namespace {

analysis::HostEventLoader HostEventsOf(const store::RunBuilder& builder) {
  return [&builder](const analysis::Intervals& within) {
    std::vector<std::pair<int64_t, int64_t>> times;
    for (const analysis::Interval& interval : within) {
      times.emplace_back(interval.start_ns, interval.end_ns);
    }
    return builder.HostEvents(times);
  };
}

model::UserCode UserCodeOf(const store::RunBuilder& builder) {
  return model::UserCode(builder.RunInfo(kUserCodeKey));
}

analysis::HostCallOf CallsOf(const store::RunBuilder& builder) {
  return [&builder](size_t activity) { return builder.CallOf(activity); };
}

}  // namespace

Result<Derived> Derive(store::RunBuilder& builder) {
  // A declaration of this command wins over that of the import.
  if (const char* declared = std::getenv(kUserCodeVariable); declared != nullptr) {
    builder.SetRunInfo(kUserCodeKey, declared);
  }
  builder.AddResults(UserCodeOf(builder));
  Derived derived;
  ParsedModules modules(builder);
  XLATRACE_ASSIGN(derived.attribution,
                  correlator::Attribute(builder.tables(), modules.ForCorrelator(), nullptr,
                                        UserCodeOf(builder)));
  builder.AddResults(derived.attribution);
  derived.analysis = AnalyzeWritten(builder, derived.attribution, modules);
  builder.AddResults(std::exchange(derived.analysis.time_tree, {}));
  builder.AddResults(std::exchange(derived.analysis.gap_stacks, {}));
  builder.AddResults(derived.analysis);
  builder.AddResults(
      analysis::RunMemory(builder.tables(), derived.attribution, modules.ForAnalysis()));
  return derived;
}

model::AnalysisTables AnalyzeWritten(const store::RunBuilder& builder,
                                     model::AttributionTables& attribution, ParsedModules& modules,
                                     const analysis::KnownParts* known) {
  const model::RunTables& run = builder.tables();
  analysis::AnalysisOptions options;
  options.known = known;
  options.user_code = UserCodeOf(builder);
  options.compiles = run.compiles;
  options.named_compiles = builder.Compiles();
  // Losses between two windows hide nothing inside a window.
  options.lost_records = builder.LostRecords();
  for (const model::Loss& loss : run.losses) options.lost_records -= loss.at_least;
  options.lost_records = std::max<int64_t>(options.lost_records, 0);
  options.host_events = HostEventsOf(builder);
  options.call_of = CallsOf(builder);
  return analysis::Analyze(run, attribution, modules.ForAnalysis(), options);
}

}  // namespace xlatrace::tools
