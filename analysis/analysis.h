// SPDX-License-Identifier: Apache-2.0

// Analysis of the attributed time of a run.
//
// Output: model::AnalysisTables, and the phase and layer of each instruction in the attribution's
// rows (phases: forward, loss, backward, recompute, optimizer, other). The tables contain steps,
// sums of time by op, scope and phase, the parts of each step, gaps, exposed communication and
// findings.
// Input: a run in memory, the correlator's attribution of the run, and a loader of HLO modules.
//
// docs/schema.md defines each figure. The headers of this component give the rules that
// docs/schema.md leaves open. Pure: no I/O, no globals, no clock; equal input gives equal output.
// Thread-safety: calls on different data may run in parallel.

#ifndef XLATRACE_ANALYSIS_ANALYSIS_H_
#define XLATRACE_ANALYSIS_ANALYSIS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "analysis/gap_cause.h"
#include "analysis/launch_queue.h"
#include "base/error.h"
#include "model/derived.h"
#include "model/hlo_module.h"
#include "model/run_tables.h"
#include "model/time_tree.h"
#include "model/user_code.h"

namespace xlatrace::analysis {

// Returns the HLO of a module of the run; borrowed until the next call. After an error or nullptr,
// phases and layers are derived from names only, and a run stat counts the module.
using ModuleLoader = std::function<Result<const model::HloModule*>(model::Id module_id)>;

// Results of an earlier analysis of the whole run, for the analysis of a part (export --steps A:B).
// The attribution already has its phases and layers, and the steps are those given here.
struct KnownParts {
  std::vector<model::StepRow> steps;  // By device, start; device_ns and busy_ns are filled.
  std::vector<std::optional<int32_t>> step_of;  // Per activity.
};

struct AnalysisOptions {
  std::vector<model::CompileSpan> compiles;  // Times in which processes compiled.
  // The intervals of compile_times, each with the compiled function.
  std::vector<model::NamedCompile> named_compiles;
  // May be empty. Then the only causes of gaps are compilation and copies.
  HostEventLoader host_events;
  int64_t lost_records = 0;   // Records that the recording lost; if above 0, no time is idle.
  HostCallOf call_of;         // May be empty: then launch latency and queue depth are unknown.
  model::UserCode user_code;  // Decides which source files belong to the user.
  const KnownParts* known = nullptr;  // If set, nothing is labelled and no steps are searched.
};

// `attribution` is complete except for phases and layers, which this function fills in.
model::AnalysisTables Analyze(const model::RunTables& run, model::AttributionTables& attribution,
                              const ModuleLoader& load_module, const AnalysisOptions& options = {});

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_ANALYSIS_H_
