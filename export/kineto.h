// SPDX-License-Identifier: Apache-2.0

// `--to kineto`: PyTorch-profiler JSON for HolisticTraceAnalysis and Perfetto: a folder with
// rank_N.json.gz per process (HTA's trace_dir). If the output is named *.json or *.json.gz and the
// run has one process, it is that file.
//
// Kernels, copies and memsets have stream and correlation; their launching calls are cuda_runtime
// and cuda_driver events. Steps are "ProfilerStep#N". distributedInfo has the rank and
// deviceProperties the GPU. Times are microseconds with three decimals since the run's start. An
// absolute time would lose its decimals in a double, so baseTimeNanoseconds has the run's start.
// `args` has instruction, op_name, phase, layer, module, source and evidence.

#ifndef XLATRACE_EXPORT_KINETO_H_
#define XLATRACE_EXPORT_KINETO_H_

#include "base/error.h"
#include "export/output.h"
#include "store/run_db.h"

namespace xlatrace::exporter {

struct ExportRequest;

Result<ExportCount> WriteKineto(store::RunDb& db, const ExportRequest& request);

}  // namespace xlatrace::exporter

#endif  // XLATRACE_EXPORT_KINETO_H_
