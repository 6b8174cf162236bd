// SPDX-License-Identifier: Apache-2.0

// The analysis of a run while it is written: its tables, and the additional data of the store.
//
// Thread-safety: one thread.

#ifndef XLATRACE_TOOLS_WRITTEN_ANALYSIS_H_
#define XLATRACE_TOOLS_WRITTEN_ANALYSIS_H_

#include "analysis/analysis.h"
#include "base/error.h"
#include "model/derived.h"
#include "store/run_builder.h"
#include "tools/parsed_modules.h"

namespace xlatrace::tools {

// Results of correlator and analysis for a run.
struct Derived {
  model::AttributionTables attribution;
  model::AnalysisTables analysis;
};

// Computes both for a run that is complete except for them; the builder stores them. Each module is
// parsed once (parsed_modules.h).
Result<Derived> Derive(store::RunBuilder& builder);

// `known`: results of an earlier analysis, for a part of a run; otherwise null.
model::AnalysisTables AnalyzeWritten(const store::RunBuilder& builder,
                                     model::AttributionTables& attribution, ParsedModules& modules,
                                     const analysis::KnownParts* known = nullptr);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_WRITTEN_ANALYSIS_H_
