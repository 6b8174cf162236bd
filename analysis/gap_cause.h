// SPDX-License-Identifier: Apache-2.0

// The cause of each gap (docs/schema.md, gap), from the division of idle time by instants
// (analysis/time_tree/idle_time.h).
//
// The first rule that applies counts:
// 1. More than half of the gap was compilation: `compile` (GapFinder).
// 2. The next work had been launched well before the gap began, or long before it ended
//    (analysis/launch_queue.h): the host did not delay it, `unknown`. If no calls are known: the
//    host is inside a program or thunk that runs only after the next work, so it had launched that
//    work before.
// 3. The driver held the host inside the call that launches the next work: `host`.
// 4. A range of a data loader covers most of the gap: `input`.
// 5. A wait for the device delayed the launch: `synchronisation`. Without the wait, all that the
//    thread does after it would be earlier by the time that it waited. Therefore a wait explains
//    the gaps after it, in their order, until they sum to that time (the last one by more than
//    half), and until the thread waits again or launches nothing for a millisecond. If a value was
//    read back and no call waited for it, the wait lasts from the call to the end of the copy.
// 6. The kind that has most of the gap: launch calls give `launch_bound`, copy calls `copy`,
//    synchronization calls `synchronisation`, samples of a data loader `input`, everything else
//    that the host did `host`. In a short gap inside one execution on a GPU, the host is launching,
//    whatever is recorded. If the launching thread is not known, a range that covers most of the
//    gap gives `host`.
// Calls and ranges of a thread that works for another device (analysis/launch_threads.h) do not
// count.
// `host_range_id` is the innermost range that covers most of the gap, of the thread that launches
// the next work if that thread has one.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_ANALYSIS_GAP_CAUSE_H_
#define XLATRACE_ANALYSIS_GAP_CAUSE_H_

#include <functional>
#include <vector>

#include "analysis/intervals.h"
#include "analysis/launch_queue.h"
#include "analysis/time_tree/gap_part.h"
#include "model/derived.h"
#include "model/host_event.h"
#include "model/run_tables.h"

namespace xlatrace::analysis {

// Returns the API calls and ranges of all processes that overlap any of the intervals, in any
// order. The intervals are sorted and do not overlap.
using HostEventLoader = std::function<std::vector<model::HostEvent>(const Intervals& within)>;

// Fills cause and host_range_id of gaps of kMinExplainedGapNs or more whose cause is unknown.
// `parts`: of all devices, in any order. `load_events` and `call_of` may be empty. Returns the
// evidence of the longest gaps in words, by position. It has the innermost range that covers most
// of the gap, the ranges inside it before and after the gap, and the long calls.
std::vector<model::GapEvidenceRow> FindGapCauses(const model::RunTables& run,
                                                 const model::AttributionTables& attribution,
                                                 const HostEventLoader& load_events,
                                                 const HostCallOf& call_of,
                                                 std::vector<time_tree::GapPart> parts,
                                                 std::vector<model::GapRow>& gaps);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_GAP_CAUSE_H_
