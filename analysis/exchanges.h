// SPDX-License-Identifier: Apache-2.0

// Groups the runs of a collective on several devices into exchanges, with the waiting time of each.
//
// Runs are paired by content: the program's fingerprint, the instruction, the step, and the number
// of the run in the step. Devices of several processes have a module each. An exchange is reported
// only if all devices of its group ran the instruction equally often in that step. Outside of
// steps, runs are counted from the start of the recording. Such counts are comparable within one
// process only, because each process is recorded separately.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_ANALYSIS_EXCHANGES_H_
#define XLATRACE_ANALYSIS_EXCHANGES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analysis/instruction_facts.h"
#include "analysis/timeline.h"
#include "model/derived.h"
#include "model/run_tables.h"

namespace xlatrace::analysis {

struct Exchange {
  int64_t devices = 0;  // Number of devices that run the instruction.
  // First activity of the exchange; 0: the other activities of the exchange are unknown.
  model::Id group_id = 0;
  // Duration minus the shortest duration in the exchange. A kernel of a collective spins until all
  // devices have arrived, and all devices leave together. The last device to arrive therefore has
  // the shortest kernel. No clocks are compared. Empty for collectives in which devices do not wait
  // for all others.
  std::optional<int64_t> wait_ns;
  // Time from its start to the start of the last device's activity. Only if one process, and so one
  // clock, timed all of them.
  std::optional<int64_t> arrival_skew_ns;
};

// By position of the activity: collectives of instructions, timed.
std::unordered_map<size_t, Exchange> FindExchanges(
    const model::RunTables& run, const model::AttributionTables& attribution,
    const std::vector<ActivityClass>& classes, const RunFacts& facts,
    const std::vector<std::optional<int32_t>>& step_of);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_EXCHANGES_H_
