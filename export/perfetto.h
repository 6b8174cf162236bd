// SPDX-License-Identifier: Apache-2.0

// `--to perfetto`: a trace of TracePacket messages for ui.perfetto.dev and trace_processor.
//
// One process per rank. Per device it has tracks of steps, modules (executions), phases and layers.
// They are followed by one track per stream, or several if its kernels overlap ("stream 7 (2)").
// The last tracks are host threads with their ranges and launching calls. Slices of streams are
// named after the HLO instruction, or else the kernel. Other facts are arguments, for example
// activity_id. An arrow leads from each call to its launches. Counters: busy (share of a bin of a
// 2,000th of the run), exposed communication and copies (per step), theoretical occupancy, peak
// memory of the module.
//
// Times of the trace are those of run.db (ns since the start of the run). If some are negative, all
// are moved by the same whole seconds. Memory: that of run_rows, and 65,536 calls.

#ifndef XLATRACE_EXPORT_PERFETTO_H_
#define XLATRACE_EXPORT_PERFETTO_H_

#include "base/error.h"
#include "export/output.h"
#include "store/run_db.h"

namespace xlatrace::exporter {

struct ExportRequest;

Result<ExportCount> WritePerfetto(store::RunDb& db, const ExportRequest& request);

}  // namespace xlatrace::exporter

#endif  // XLATRACE_EXPORT_PERFETTO_H_
