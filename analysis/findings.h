// SPDX-License-Identifier: Apache-2.0

// What is worth doing about a run, with the evidence (docs/schema.md, finding), and what is fine.
//
// One engine for every skin: terminal, page and JSON show its rows. The rules are in
// analysis/findings/, one file per family; docs/reference/findings.md is their catalogue.
//
// Figures are per steady step of one device, the mean over devices. What a finding saves at most is
// what the thing takes now, less what it must take where a model knows; what it saves at least is
// what the action is expected to win. Upper bounds overlap and are not added. Without a steady step
// only what needs none is said: data that cannot be trusted, compilation in every step, a device
// that does nothing but copy.

#ifndef XLATRACE_ANALYSIS_FINDINGS_H_
#define XLATRACE_ANALYSIS_FINDINGS_H_

#include "analysis/analysis.h"
#include "analysis/replay/run_replay.h"
#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::analysis {

// Fills `findings` and `ruled_out` of `analysis`, of which everything else is complete.
// `load_module` is called once for each module with time in steady steps. `replay` is of the same
// tables; the step with all findings is put into their row of `replays`.
void FindFindings(const model::RunTables& run, const model::AttributionTables& attribution,
                  const ModuleLoader& load_module, const AnalysisOptions& options,
                  const replay::RunReplay& replay, model::AnalysisTables& analysis);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_FINDINGS_H_
