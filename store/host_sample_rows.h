// SPDX-License-Identifier: Apache-2.0

// Tables and views of sampled stacks and of the CPU use of threads (model/host_sample.h).

#ifndef XLATRACE_STORE_HOST_SAMPLE_ROWS_H_
#define XLATRACE_STORE_HOST_SAMPLE_ROWS_H_

#include <string>
#include <vector>

#include "base/error.h"
#include "model/gap_stack.h"
#include "model/host_sample.h"
#include "store/run_db.h"
#include "store/sqlite.h"

namespace xlatrace::store {

// Parts of TablesSql and ViewsSql.
std::string HostTablesSql();
std::string HostViewsSql();

Status WriteHostSamples(Database& database, const model::HostSampleTables& tables);
Status WriteGapStacks(Database& database, const std::vector<model::GapStackRow>& rows);
Result<model::HostSampleTables> ReadHostSamples(RunDb& db);

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_HOST_SAMPLE_ROWS_H_
