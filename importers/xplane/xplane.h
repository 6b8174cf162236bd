// SPDX-License-Identifier: Apache-2.0

// XSpace ("*.xplane.pb"), the profile that jax.profiler and tf.profiler write -> model events.
//
// The message (tsl/profiler/protobuf/xplane.proto) is a list of planes. A plane is a list of lines;
// a line is a list of events, in picoseconds from the line's own start.
//
// Time. Nanoseconds since profile_start_time (plane "Task Environment"). Start and end are floored
// separately: end = floor((offset + duration) / 1000). So events that touch in picoseconds touch in
// nanoseconds, and nested ones stay nested. Files of profilers before 2020 have absolute unix
// nanoseconds in the lines; those are recognised by size (>= 10^17).
//
// GPU ("/device:GPU:n", NVIDIA and AMD). Every "Stream #" line is a lane; its events are kernels,
// copies, memsets or graphs. Lines that XProf derives ("XLA Modules", "XLA Ops", "Steps", ...) are
// neither activities nor runs: XProf joins neighbouring executions of a module there. So run_key is
// known only if the record itself carries run_id. Registers of a kernel above 1024 are garbage
// (ROCm profilers of 2025): they are dropped with the record's shared memory, and counted. An API
// call of the host is kept if an activity carries its correlation id. Synchronisations of at least
// 1 us are kept too, because they may explain a gap.
//
// CPU ("/host:CPU" of XLA:CPU's thunk runtime). An event with stat hlo_op is an op; its lane is the
// thread. Ops nest: self time is the time outside of inner ops. Wrappers without hlo_op and "end:
// X" markers are not ops. A run is (program_id, run_id, device_ordinal); run_id -1: unknown.
//
// TPU ("/device:TPU:n"). Line "XLA Ops" holds the ops, nested (a while contains its body); line
// "XLA Modules" has their runs. "Async XLA Ops" shows the same copies and collectives a second
// time, as spans from start to done that overlap each other and all computation. Their cost to the
// core is already on "XLA Ops" (the -start, and the wait in the -done). They are a run stat, not
// activities, because they would make sums of device time meaningless.
//
// Modules: event metadata of "/host:metadata" with stat "Hlo Proto"; program id from stat
// program_id, else from the name "jit_f(52)". Program ids of TPUs use all 64 bits: they are stored
// as the int64 of the same bits.
//
// Host ranges: step annotations (also as step marks), jitted calls, host-device transfers, waits,
// input pipeline and compilation, at most kMaxHostRanges; the rest is counted.
//
// XPlanes carry no product name of a GPU; the name is made of what they do carry ("AMD GPU (304
// compute units)").
//
// Run stats: host_event_not_kept, host_range_over_limit, api_call_not_kept: NAME,
// event_time_invalid, event_without_time, damaged_plane, damaged_line, damaged_event, repeated_row,
// impossible_registers, async_op_not_counted,
// derived_line, line_not_imported: NAME, plane_not_imported: NAME, device_event_not_kept,
// op_without_hlo_op, event_without_name, damaged_module, clock_not_known, profiler_error,
// profiler_warning, dropped_by_profiler, no_device_activity.

#ifndef XLATRACE_IMPORTERS_XPLANE_XPLANE_H_
#define XLATRACE_IMPORTERS_XPLANE_XPLANE_H_

#include <string>
#include <string_view>

#include "base/byte_source.h"
#include "base/error.h"
#include "model/event_sink.h"

namespace xlatrace::importers {

inline constexpr int64_t kMaxHostRanges = 50'000;

// Reads events one by one. Memory: names, modules, the rows of one line of a TPU or CPU
// (sorted for their self time), and the rows that the sink keeps. `path`: for messages and run
// stats.
Status ImportXplane(const ByteSource& source, const std::string& path, model::EventSink& sink);

// The same from the whole inflated file in memory.
Status ImportXplane(std::string_view bytes, const std::string& path, model::EventSink& sink);

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_XPLANE_XPLANE_H_
