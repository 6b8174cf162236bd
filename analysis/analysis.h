// SPDX-License-Identifier: Apache-2.0

// The analysis: what the attributed time of a run means.
//
// Does: gives every instruction its phase (forward, loss, backward, recompute, optimizer, other)
// and layer; finds the steps; sums time by op, scope and phase; says for every instant of a step
// what it was spent on; finds gaps and exposed communication; derives findings.
// Gets: a run in memory, the correlator's attribution of it, and a way to look at HLO modules.
// Gives: model::AnalysisTables, and phase and layer in the attribution's rows.
//
// What each figure means is said in docs/schema.md; headers of this room name the rules that it
// leaves open. Pure: no I/O, no globals, no clock; equal input gives equal output.
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

// Gives the HLO of a module of the run; borrowed until the next call. An error or nullptr means
// that it cannot be had; then names alone decide, and a run stat counts it.
using ModuleLoader = std::function<Result<const model::HloModule*>(model::Id module_id)>;

// What is known of a part of a run that was analysed as a whole before (export's --steps): phases
// and layers are in the attribution already, and these are its steps.
struct KnownParts {
  std::vector<model::StepRow> steps;  // By device, start; device_ns and busy_ns are filled.
  std::vector<std::optional<int32_t>> step_of;  // Per activity.
};

struct AnalysisOptions {
  std::vector<model::CompileSpan> compiles;         // When processes compiled.
  std::vector<model::NamedCompile> named_compiles;  // The same, with what was compiled.
  HostEventLoader host_events;  // May be empty: then gaps have no cause but compilation and copies.
  int64_t lost_records = 0;     // What the recording is known to lack; then nothing is called idle.
  HostCallOf call_of;           // May be empty: then launch latency and queue depth are not known.
  model::UserCode user_code;    // Which source files are the user's.
  const KnownParts* known = nullptr;  // Nothing is labelled anew, and no steps are looked for.
};

// `attribution` is complete but for phases and layers, which are filled in.
model::AnalysisTables Analyze(const model::RunTables& run, model::AttributionTables& attribution,
                              const ModuleLoader& load_module, const AnalysisOptions& options = {});

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_ANALYSIS_H_
