// SPDX-License-Identifier: Apache-2.0

// `--to db`: a copy of the run.db, packed tight.

#ifndef XLATRACE_EXPORT_DATABASE_H_
#define XLATRACE_EXPORT_DATABASE_H_

#include "base/error.h"
#include "export/output.h"
#include "store/run_db.h"

namespace xlatrace::exporter {

struct ExportRequest;

Result<ExportCount> WriteDatabase(store::RunDb& db, const ExportRequest& request);

}  // namespace xlatrace::exporter

#endif  // XLATRACE_EXPORT_DATABASE_H_
