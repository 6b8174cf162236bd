// SPDX-License-Identifier: Apache-2.0

// `--to nsys`: an SQLite file with the tables of an Nsight Systems export (schema 3.24). Tables:
// kernels, copies, memsets, API calls, NVTX ranges, strings, GPUs. Values that the source lacks are
// NULL.

#ifndef XLATRACE_EXPORT_NSYS_H_
#define XLATRACE_EXPORT_NSYS_H_

#include "base/error.h"
#include "export/output.h"
#include "store/run_db.h"

namespace xlatrace::exporter {

struct ExportRequest;

Result<ExportCount> WriteNsys(store::RunDb& db, const ExportRequest& request);

}  // namespace xlatrace::exporter

#endif  // XLATRACE_EXPORT_NSYS_H_
