// SPDX-License-Identifier: Apache-2.0

// Which runs of a collective, on which devices, are one exchange, and how long each waited in it.
//
// Like is paired with like by content: the program (its fingerprint; devices of several processes
// have a module each), the instruction, the step, and the number of the run in it. Only where the
// devices that run the instruction are the whole of its group, and each ran it equally often in
// that step, is anything said. Outside of steps runs are counted through, which holds within one
// process only, as processes are recorded on their own.
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
  int64_t devices = 0;     // That run the instruction.
  model::Id group_id = 0;  // The first activity of the exchange; 0: its others are not known.
  // The kernel of a collective spins until its peers are there, and all leave it together: the
  // last to arrive has the shortest. So the duration less the least of the group; no clock is
  // compared. Nothing for collectives in which devices do not wait for all others.
  std::optional<int64_t> wait_ns;
  // How long it ran before the last one began. Where one process, and so one clock, timed them.
  std::optional<int64_t> arrival_skew_ns;
};

// By position of the activity: collectives of instructions, timed.
std::unordered_map<size_t, Exchange> FindExchanges(
    const model::RunTables& run, const model::AttributionTables& attribution,
    const std::vector<ActivityClass>& classes, const RunFacts& facts,
    const std::vector<std::optional<int32_t>>& step_of);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_EXCHANGES_H_
