// SPDX-License-Identifier: Apache-2.0

// `--to perfetto`: a trace of TracePacket messages for ui.perfetto.dev and trace_processor.
//
// A process per rank; in it, per device, tracks of steps, modules (executions), phases and layers,
// then a track per stream (more where its kernels overlap: "stream 7 (2)"); then host threads with
// their ranges and the calls that launched something. Slices of streams are named after the HLO
// instruction, else the kernel, and carry the rest as arguments (activity_id among them); an arrow
// leads from each call to what it launched. Counters: busy (share of a bin of a 2,000th of the
// run), exposed communication and copies (per step), theoretical occupancy, peak memory of the
// module.
//
// Times of the trace are those of run.db (ns since the start of the run), all moved by the same
// whole seconds where some are negative. Memory: that of run_rows, and 65,536 calls.

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
