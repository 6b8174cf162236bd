// SPDX-License-Identifier: Apache-2.0

// `--to speedscope`: a profile per rank for https://www.speedscope.app, device time in nanoseconds.
//
// Format: https://www.speedscope.app/file-format-schema.json ("sampled" profiles).

#ifndef XLATRACE_EXPORT_SPEEDSCOPE_H_
#define XLATRACE_EXPORT_SPEEDSCOPE_H_

#include "base/error.h"
#include "export/output.h"
#include "store/run_db.h"

namespace xlatrace::exporter {

struct ExportRequest;

Result<ExportCount> WriteSpeedscope(store::RunDb& db, const ExportRequest& request);

}  // namespace xlatrace::exporter

#endif  // XLATRACE_EXPORT_SPEEDSCOPE_H_
