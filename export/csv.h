// SPDX-License-Identifier: Apache-2.0

// `--to csv`: a folder with one CSV file per view (RFC 4180, a line of names first).
//
// NULL is an empty cell. Texts that a spreadsheet reads as formulas get a leading ', as in `query
// --format csv` (base/csv.h).

#ifndef XLATRACE_EXPORT_CSV_H_
#define XLATRACE_EXPORT_CSV_H_

#include "base/error.h"
#include "export/output.h"
#include "store/run_db.h"

namespace xlatrace::exporter {

struct ExportRequest;

Result<ExportCount> WriteCsv(store::RunDb& db, const ExportRequest& request);

}  // namespace xlatrace::exporter

#endif  // XLATRACE_EXPORT_CSV_H_
