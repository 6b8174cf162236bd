// The analysis of a run while it is written: its tables, and what the store knows beside them.
//
// Thread-safety: one thread.

#ifndef XLATRACE_TOOLS_WRITTEN_ANALYSIS_H_
#define XLATRACE_TOOLS_WRITTEN_ANALYSIS_H_

#include "analysis/analysis.h"
#include "base/error.h"
#include "correlator/correlator.h"
#include "model/derived.h"
#include "model/hlo_module.h"
#include "store/run_builder.h"
#include "store/run_db.h"

namespace xlatrace::tools {

// The HLO that a run holds; takes its bytes.
Result<model::HloModule> ParseHlo(store::RunDb::ModuleBytes& stored);

// A module of the run for the correlator: its HLO and what the run holds of its thunks.
Result<correlator::LoadedModule> LoadModule(const store::RunBuilder& builder, model::Id module_id);

// `known`: of a part of a run that was analysed before, else null.
model::AnalysisTables AnalyzeWritten(const store::RunBuilder& builder,
                                     model::AttributionTables& attribution,
                                     const analysis::ModuleLoader& load_module,
                                     const analysis::KnownParts* known = nullptr);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_WRITTEN_ANALYSIS_H_
