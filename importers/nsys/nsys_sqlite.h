// SPDX-License-Identifier: Apache-2.0

// Nsight Systems exports (`nsys export --type sqlite`) -> model events.
//
// Schemas 2.9 to 3.25 and trimmed files: every table and column may be absent; names may be
// interned (StringIds) or inline. Tables and their rows:
//   CUPTI_ACTIVITY_KIND_KERNEL, _MEMCPY, _MEMSET   activities, one lane per stream
//   CUPTI_ACTIVITY_KIND_GRAPH_TRACE                graph-level rows (--cuda-graph-trace=graph)
//   CUPTI_ACTIVITY_KIND_RUNTIME                    API calls that an activity refers to, and
//                                                  synchronisations of 1 us and more; the others
//                                                  as unreferred calls
//   CUDA_GRAPH_NODE_EVENTS                         where a graph node was made (see hints)
//   NVTX_EVENTS                                    push/pop and start/end ranges of all domains;
//                                                  the latter lie on no stack: depth -1
//   PROCESSES, TARGET_INFO_*, META_DATA_*          processes, devices, facts of the run
// Host synchronisation and overhead rows are not device work; they are counted.
//
// Time: nanoseconds since the session's start, whose wall clock is utcEpochNs.
// Ids: globalPid = ...|pid << 24, globalTid = globalPid | tid (24 bits each). Correlation ids are
// unique per process only.
//
// Hints come from ranges that are open at the start of the API call. XLA pushes them in NVTX domain
// "TSL" on the launching thread. The innermost `Thunk:#...hlo_op=...#` names the instruction. The
// enclosing `XlaModule:#...hlo_module=,program_id=#` names the module. One such range on one device
// is one run (run_key). A kernel of a CUDA graph does not belong to the range at the graph's
// launch. Its instruction comes from the range around the creation of its node (evidence graph
// node, from CUDA_GRAPH_NODE_EVENTS). Without that table only the module is known.
//
// Unified memory: rows of MEMCPY with copyKind 11 to 13 are page migrations. Their own time is the
// part that no kernel of the device covers (importers/common/page_migrations.h).
//
// Damage: a page or row that cannot be read is left out and counted. The other rows and tables are
// read. Duplicate rows are read once.
//
// Run stats: repeated_row, page_migration, kernels_not_recorded, osrt_row, cpu_page_fault_row,
// gpu_page_fault_row, api_call_not_kept: NAME, event_time_invalid, range_not_finished,
// range_text_cut, nvtx_row_not_kept, synchronization_row, overhead_row, table_damaged: NAME, nsys:
// TEXT (warnings and errors of DIAGNOSTIC_EVENT), no_device_activity.

#ifndef XLATRACE_IMPORTERS_NSYS_NSYS_SQLITE_H_
#define XLATRACE_IMPORTERS_NSYS_NSYS_SQLITE_H_

#include <string>

#include "base/error.h"
#include "model/event_sink.h"

namespace xlatrace::importers {

Status ImportNsysSqlite(const std::string& path, model::EventSink& sink);

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_NSYS_NSYS_SQLITE_H_
