// SPDX-License-Identifier: Apache-2.0

// Possible improvements of a run, with their evidence, and causes ruled out (docs/schema.md).
//
// Terminal, page and JSON all show these rows. The rules are in
// analysis/findings/, one file per family; docs/reference/findings.md is their catalogue.
//
// Figures are per steady step of one device, the mean over devices. The largest saving of a finding
// is its present time minus the time that a model predicts. The smallest saving is the expected
// gain of the action. Upper bounds overlap and are not added. Without a steady step, only findings
// that need no step are reported. Examples: untrustworthy data, compilation in every step, a device
// that only copies.

#ifndef XLATRACE_ANALYSIS_FINDINGS_H_
#define XLATRACE_ANALYSIS_FINDINGS_H_

#include "analysis/analysis.h"
#include "analysis/replay/run_replay.h"
#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::analysis {

// Fills `findings` and `ruled_out` of `analysis`. All other parts of `analysis` must be complete.
// `load_module` is called once for each module with time in steady steps. `replay` was made from
// the same tables. The step with all findings applied is stored in the row of `replays`.
void FindFindings(const model::RunTables& run, const model::AttributionTables& attribution,
                  const ModuleLoader& load_module, const AnalysisOptions& options,
                  const replay::RunReplay& replay, model::AnalysisTables& analysis);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_FINDINGS_H_
