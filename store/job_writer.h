// SPDX-License-Identifier: Apache-2.0

// Stores the ranks of a merged job.

#ifndef XLATRACE_STORE_JOB_WRITER_H_
#define XLATRACE_STORE_JOB_WRITER_H_

#include "base/error.h"
#include "model/job_rows.h"
#include "store/sqlite.h"

namespace xlatrace::store {

// Call it inside the caller's transaction; the tables must be empty.
Status WriteJob(Database& database, const model::JobTables& job);

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_JOB_WRITER_H_
