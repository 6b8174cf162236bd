// SPDX-License-Identifier: Apache-2.0

// A finished run.db in memory in the form that analysis/ uses, with only the data that a replay
// needs.
//
// From the run: devices, lanes, configurations (kind, copy kind, symbol, name), names of modules,
// activities, steps, gaps, and the host call of each activity. From the attribution: all of
// store/attribution_reader.h, and the labels and executions of activities. Also the calls and
// ranges in which a host thread waits for a device. Memory: about 100 bytes per launch.
//
// Thread-safety: plain data.

#ifndef XLATRACE_TOOLS_LOADED_RUN_H_
#define XLATRACE_TOOLS_LOADED_RUN_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/launch_queue.h"
#include "base/error.h"
#include "model/derived.h"
#include "model/host_event.h"
#include "model/run_tables.h"
#include "store/run_db.h"

namespace xlatrace::tools {

struct LoadedRun {
  model::RunTables run;
  model::AttributionTables attribution;
  std::vector<model::StepRow> steps;
  std::vector<std::optional<int32_t>> step_of;
  std::vector<model::GapRow> gaps;
  std::vector<model::HostEvent> waits;
  // Names of `waits`, on the heap, so that views of them stay valid when the run is moved.
  std::unique_ptr<std::deque<std::string>> names = std::make_unique<std::deque<std::string>>();
  std::vector<uint32_t> call_of;       // Per activity: position in `calls` + 1, 0: none.
  std::vector<model::HostCall> calls;  // Numbered by position + 1.

  // Borrows this.
  analysis::HostCallOf CallOf() const;
};

Result<LoadedRun> LoadRun(store::RunDb& db);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_LOADED_RUN_H_
