// SPDX-License-Identifier: Apache-2.0

// Stores what the correlator and the analysis worked out. Old derived rows are dropped first, so
// that a run can be attributed again.

#ifndef XLATRACE_STORE_DERIVED_WRITER_H_
#define XLATRACE_STORE_DERIVED_WRITER_H_

#include <vector>

#include "base/error.h"
#include "model/derived.h"
#include "model/time_tree.h"
#include "store/run_db.h"
#include "store/sqlite.h"
#include "store/table_builder.h"

namespace xlatrace::store {

// Labels, executions and facts of modules; instructions come with the analysis, which completes
// them. What exists once per activity is ActivityRows' (activity_rows.h). Inside the caller's
// transaction.
Status WriteAttribution(Database& database, const model::AttributionTables& attribution);
Status WriteAnalysis(Database& database, const model::AttributionTables& attribution,
                     const model::AnalysisTables& analysis);
Status WriteTimeTree(Database& database, const std::vector<model::TimeTreeRow>& rows);
// The rows of x_critical_path, which WriteAnalysis leaves out: there may be one per launch.
void WriteCriticalPath(const model::AnalysisTables& analysis, TableBuilder& rows);

// What is said where HLO is asked for that the run does not hold.
tl::unexpected<Error> NoHlo(model::Id module_id);
// HLO of one module, uncompressed.
Result<RunDb::ModuleBytes> ReadModuleRow(Database& database, model::Id module_id);

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_DERIVED_WRITER_H_
