// SPDX-License-Identifier: Apache-2.0

// Converts JSON traces to model events: PyTorch's Kineto, Chrome's trace event format as GPU
// profilers use it, and the trace.json.gz that XProf (JAX, TensorFlow) writes beside its XSpace.
//
// The trace is read as a stream (trace_splitter.h): memory grows with the kept rows, not with the
// file. Object and list form, gz, xz, zstd and bzip2.
//
// Time: microseconds in decimal text become nanoseconds without a double in between. Start and end
// are rounded down separately (Kineto has nanoseconds, XProf picoseconds). Unix time is
// baseTimeNanoseconds + ts, or ts itself if it is as large as a Unix time. XProf's traces have no
// wall clock.
//
// Kineto ("cat"):
//   kernel, gpu_memcpy, gpu_memset    activities, one lane per device, context and stream; older
//                                     spellings (Kernel, Memcpy, Memset, concurrent_kernel) too
//   *_runtime, *_driver (CUDA, HIP,   API calls, by args.correlation; kept as in nsys_sqlite.h
//     XPU, MTIA), Runtime
//   user_annotation, cpu_op           ranges of host threads; "ProfilerStep#N" is also a step mark
//   cuda_sync, cuda_event             host synchronisation as seen by a stream: no work, counted
//   gpu_user_annotation               projected ranges: no work, counted
//   cuda_profiler_range               times made up from the pass count of a counter replay:
//                                     counted
//   python_function (with_stack)      Python calls (view python_call) of threads that do more:
//                                     nn.Modules, and functions that are not PyTorch's own, at the
//                                     line where they begin; others are counted
//   ac2g, overhead                    counted
// "shared memory" is the sum of static and dynamic, and is stored as dynamic. "est. achieved
// occupancy" is another quantity and is not stored. One file is one process: the process whose
// calls launched work. Its rank is distributedInfo.rank. Such runs are not XLA programs: their
// activities have no instruction, with reason not_xla or transfer.
//
// XProf (process_name "/device:GPU:n", "/device:TPU:n", "/host:CPU"): same rows as in xplane.h,
// with hlo_op and other facts from "args". HLO modules are not in the JSON (use --modules). XProf
// silently cuts its JSON at a million events; a run stat reports that.
//
// TensorFlow's timeline.Timeline (process_name "/device:GPU:0/stream:13 Compute"): kernels and
// copies per stream with their op (evidence op_range), chrome_tensorflow.cc; without a GPU, ops of
// the CPU. Ops that the executor scheduled are ranges.
//
// Run stats: python_function_not_kept, python_frame_of_idle_thread, python_frame_over_limit,
// flow_not_kept, host_event_not_kept, device_event_not_kept,
// api_call_not_kept: NAME, synchronization_row, event_time_invalid, event_damaged, event_oversized,
// trace_truncated, host_range_over_limit, clock_not_known, derived_line, event_limit_reached,
// replay_range_not_timed, device_event_not_complete, kernels_not_timed,
// no_device_activity.

#ifndef XLATRACE_IMPORTERS_CHROME_CHROME_TRACE_H_
#define XLATRACE_IMPORTERS_CHROME_CHROME_TRACE_H_

#include <string>
#include <string_view>

#include "base/error.h"
#include "model/event_sink.h"

namespace xlatrace::importers {

// Does `head` (the first bytes, inflated) look like a JSON trace: an object or a list of objects?
bool LooksLikeChromeTrace(std::string_view head);

Status ImportChromeTrace(const std::string& path, model::EventSink& sink);

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_CHROME_CHROME_TRACE_H_
