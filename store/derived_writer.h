// SPDX-License-Identifier: Apache-2.0

// Stores the results of correlator and analysis. Deletes older derived rows first, so that a run
// can be attributed again.

#ifndef XLATRACE_STORE_DERIVED_WRITER_H_
#define XLATRACE_STORE_DERIVED_WRITER_H_

#include <vector>

#include "base/error.h"
#include "model/derived.h"
#include "model/memory_rows.h"
#include "model/time_tree.h"
#include "store/run_db.h"
#include "store/sqlite.h"
#include "store/table_builder.h"

namespace xlatrace::store {

// Writes labels, executions and facts of modules. Instructions are written with the analysis, which
// completes them. ActivityRows (activity_rows.h) writes the data of single activities. Call it
// inside the caller's transaction.
Status WriteAttribution(Database& database, const model::AttributionTables& attribution);
Status WriteAnalysis(Database& database, const model::AttributionTables& attribution,
                     const model::AnalysisTables& analysis);
Status WriteTimeTree(Database& database, const std::vector<model::TimeTreeRow>& rows);
Status WriteMemory(Database& database, const model::MemoryTables& memory);
// Writes the rows of x_critical_path, which WriteAnalysis omits, because there may be one per
// launch.
void WriteCriticalPath(const model::AnalysisTables& analysis, TableBuilder& rows);

// Error for a request for HLO that is not in the run.
tl::unexpected<Error> NoHlo(model::Id module_id);
// HLO of one module, uncompressed.
Result<RunDb::ModuleBytes> ReadModuleRow(Database& database, model::Id module_id);

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_DERIVED_WRITER_H_
