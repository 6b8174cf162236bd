// SPDX-License-Identifier: Apache-2.0

// Divides idle time by instants (docs/schema.md, "Time tree"); a cause explains only the instants
// that it covers.
//
// 1. From the end of the launch call of the next work: `launch`. Where that takes far longer than
//    usual on the device, work that is not recorded here held it: `dependency`, up to the usual
//    time before the start.
// 2. Compilation: trace, passes, compile, recompilation.
// 3. Before the end of the call: the launching thread's activity (host_states.h, sampled_idle.h).
//    Without a thread `unknown`.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_ANALYSIS_TIME_TREE_IDLE_TIME_H_
#define XLATRACE_ANALYSIS_TIME_TREE_IDLE_TIME_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/gap_cause.h"
#include "analysis/intervals.h"
#include "analysis/time_tree/compile_parts.h"
#include "analysis/time_tree/device_time.h"
#include "analysis/time_tree/gap_part.h"
#include "analysis/time_tree/host_states.h"
#include "model/gap_stack.h"

namespace xlatrace::analysis::time_tree {

// A device and its idle time.
struct DeviceIdle {
  model::Id device_id = 0;
  DeviceTime* time = nullptr;
  bool again = false;  // Parts of the idle time of another element.
};

struct IdleDivision {
  std::vector<model::GapStackRow> gap_stacks;  // Idle time by sampled stack.
  std::vector<GapPart> gap_parts;              // In no order.
};

// Adds the idle pieces of all devices to their entries.
IdleDivision DivideIdleTime(const model::RunTables& run, const std::vector<ActivityClass>& classes,
                            const std::vector<model::NamedCompile>& compiles,
                            const HostEventLoader& load_events, const HostCallOf& call_of,
                            const std::vector<DeviceIdle>& devices, NodeTable& nodes);

}  // namespace xlatrace::analysis::time_tree

#endif  // XLATRACE_ANALYSIS_TIME_TREE_IDLE_TIME_H_
