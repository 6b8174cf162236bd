// SPDX-License-Identifier: Apache-2.0

// `--to pprof`: a gzipped profile.proto for `pprof` and `go tool pprof`.
//
// Sample types: launches (count) and device_time (nanoseconds, the default). A stack is the op_name
// from the outside in, then the instruction, which carries the source line; labels of a sample:
// phase, rank, module. Fields: github.com/google/pprof proto/profile.proto.

#ifndef XLATRACE_EXPORT_PPROF_H_
#define XLATRACE_EXPORT_PPROF_H_

#include "base/error.h"
#include "export/output.h"
#include "store/run_db.h"

namespace xlatrace::exporter {

struct ExportRequest;

Result<ExportCount> WritePprof(store::RunDb& db, const ExportRequest& request);

}  // namespace xlatrace::exporter

#endif  // XLATRACE_EXPORT_PPROF_H_
