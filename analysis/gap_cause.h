// SPDX-License-Identifier: Apache-2.0

// Why a device was idle: what its host did meanwhile (docs/schema.md, gap).
//
// Rules, first match wins; names are those of CUDA's API, of XLA's and JAX's host ranges:
// 1. more than half of the gap was compilation: `compile` (found by GapFinder);
// 2. the activity after it had been launched well before the gap began, or long before it ended
//    (analysis/launch_queue.h): the host held nobody up, whatever it did. `copy` where rule 5 says
//    so, else `unknown`;
// 3. a range that names a data loader covers most of it: `input`; or most of it, and 100 us or
//    more, lies in the very call that makes what follows (no copy): the driver held the host,
//    `host`;
// 4. a host call waited for the device when the gap began and returned within it: what is left of
//    the gap is the host getting on: `synchronisation`. So are the gaps that follow while the
//    thread that waited launches again, until it waits again or launches nothing for a
//    millisecond. Without the wait all that the thread does after it would be earlier by as long as
//    it waited, and no more: in their order gaps are its until they sum to that (the last by more
//    than half). So a host that is slower than the device, and hardly waits, does not blame the
//    waiting. A wait needs no call that shows it: a value (64 KiB at most) was copied to the host,
//    and what follows was called after it;
// 5. the activity before or after is a copy from or to the host, and may have held the host, then
//    `copy`.
//    Not one that the host came to in the second half of the gap (it is late itself), nor one to
//    the device whose call had returned before the copy ended, nor one that it was seen to wait
//    for, by rule 4 too shortly;
// 6. launch calls cover most of it, or it is short and inside one execution: `launch_bound`;
// 7. another host range covers most of it, or the host was late: the call that started what
//    follows, or the range of its module, began after the device had gone idle: `host`; nothing is
//    known: `unknown`.
//    Where no calls are known, a range of a program or thunk that runs only after what follows says
//    that the host is ahead: it had launched that before, and the cause is `unknown`.
// Calls and ranges of a thread that works for another device (analysis/launch_threads.h) do not
// count.
// Gaps between the same two instructions, of a length, have one cause: that of most of them.
// A Python function or module (PyTorch's with_stack) is a place: it decides nothing, and only the
// words of a gap name it.
// `host_range_id` is the innermost range that covers most of the gap, of the thread that launches
// what follows where it has one, else the late one.
//
// Thread-safety: pure functions.

#ifndef XLATRACE_ANALYSIS_GAP_CAUSE_H_
#define XLATRACE_ANALYSIS_GAP_CAUSE_H_

#include <functional>
#include <vector>

#include "analysis/intervals.h"
#include "analysis/launch_queue.h"
#include "model/derived.h"
#include "model/host_event.h"
#include "model/run_tables.h"

namespace xlatrace::analysis {

// Gives the API calls and ranges of all processes that overlap any of the intervals, which are
// sorted and do not overlap; in any order.
using HostEventLoader = std::function<std::vector<model::HostEvent>(const Intervals& within)>;

// Shorter gaps are too short to be judged: clocks of host and device agree no better, and a queue
// that is never empty has such gaps between kernels.
inline constexpr int64_t kLeastJudgedGapNs = 5'000;

// Fills cause and host_range_id of gaps of 5 us or more whose cause is unknown. Both functions may
// be empty. Gives what is known of the longest gaps in words, by position: the innermost range that
// covers most of one, where between the ranges within it, and the calls that took long.
std::vector<model::GapEvidenceRow> FindGapCauses(const model::RunTables& run,
                                                 const model::AttributionTables& attribution,
                                                 const HostEventLoader& load_events,
                                                 const HostCallOf& call_of,
                                                 std::vector<model::GapRow>& gaps);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_GAP_CAUSE_H_
