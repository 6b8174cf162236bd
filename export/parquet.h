// SPDX-License-Identifier: Apache-2.0

// `--to parquet`: a folder with one Parquet file per view, NAME.parquet.
//
// Integers are signed 64-bit (times in ns), shares and percentages are doubles, and all other
// values are texts with a dictionary; NULL is null. The schema version and start_unix_ns are in
// each file's key-value metadata.

#ifndef XLATRACE_EXPORT_PARQUET_H_
#define XLATRACE_EXPORT_PARQUET_H_

#include "base/error.h"
#include "export/output.h"
#include "store/run_db.h"

namespace xlatrace::exporter {

struct ExportRequest;

Result<ExportCount> WriteParquet(store::RunDb& db, const ExportRequest& request);

}  // namespace xlatrace::exporter

#endif  // XLATRACE_EXPORT_PARQUET_H_
