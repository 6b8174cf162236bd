#include "tools/written_analysis.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hlo/artefacts/thunk_sequence.h"
#include "hlo/proto/proto_reader.h"
#include "hlo/text/text_reader.h"

namespace xlatrace::tools {

Result<model::HloModule> ParseHlo(store::RunDb::ModuleBytes& stored) {
  auto bytes = std::make_shared<const std::string>(std::move(stored.bytes));
  return stored.format == model::ModuleBlob::Format::kHloText ? hlo::ReadText(std::move(bytes))
                                                              : hlo::ReadProto(std::move(bytes));
}

Result<correlator::LoadedModule> LoadModule(const store::RunBuilder& builder, model::Id module_id) {
  XLATRACE_ASSIGN(store::RunDb::ModuleBytes stored, builder.ReadModule(module_id));
  correlator::LoadedModule loaded;
  XLATRACE_ASSIGN(loaded.hlo, ParseHlo(stored));
  if (!stored.thunk_sequence.empty()) {
    // A thunk list that cannot be read costs evidence, not the module.
    auto thunks = hlo::ReadThunks(stored.thunk_sequence, stored.thunk_metadata);
    if (thunks) loaded.thunks = std::move(*thunks);
  }
  return loaded;
}

model::AnalysisTables AnalyzeWritten(const store::RunBuilder& builder,
                                     model::AttributionTables& attribution,
                                     const analysis::ModuleLoader& load_module,
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
  return analysis::Analyze(run, attribution, load_module, options);
}

}  // namespace xlatrace::tools
