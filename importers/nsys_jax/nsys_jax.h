// SPDX-License-Identifier: Apache-2.0

// Captures of nsys-jax (NVIDIA JAX-Toolbox), zip or folder -> model events.
//
// A capture has no kernels. It has NVTX ranges with the GPU time of the work launched inside
// (nvtx_gpu_proj_trace), and XLA's dump. Inputs and results:
//   TSL:Thunk ranges          activities of kind range: instruction, op_name and module from the
//                             range and the XlaModule range around it (evidence range); self time
//                             is what thunks inside (bodies of loops) do not take
//   TSL:XlaModule ranges      one is one run of its module on its device (run_key)
//   other ranges with GPU operations and no such range inside or around (autotuning measurements)
//                             activities of kind range without an instruction
//   nvtx_pushpop_trace        host ranges; XlaCompile is a compilation
//   dump/*after_optimizations modules of the process, by the number in the file's name
//   device-metadata           facts of the devices; else dump/*gpu_target_config.pbtxt
// Devices: each thread launches for one device. The main thread launches on device 0. Other threads
// are numbered by the name XlaLauncher:#...local=N# if they have such a name, or else by thread id.
// Time: nanoseconds since the session's start; captures have no wall clock. A folder of captures
// (one per process) is imported capture by capture.
//
// The self time of a range that contains others (`while`) includes the time between them. If the
// range has no GPU operation of its own, that is idle time (stat loop_time_without_operations_ns).
//
// Run stats: projected_operations_outside_ranges, loop_time_without_operations_ns,
// projected_range_not_kept, event_time_invalid, host_range_not_kept, csv_row_damaged,
// clock_not_known, no_device_activity, input_skipped.

#ifndef XLATRACE_IMPORTERS_NSYS_JAX_NSYS_JAX_H_
#define XLATRACE_IMPORTERS_NSYS_JAX_NSYS_JAX_H_

#include <string>

#include "base/error.h"
#include "model/event_sink.h"

namespace xlatrace::importers {

// True if the folder at `path` is a capture or contains captures.
bool LooksLikeNsysJaxFolder(const std::string& path);

// A capture, or a folder of them.
Status ImportNsysJax(const std::string& path, model::EventSink& sink);

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_NSYS_JAX_NSYS_JAX_H_
