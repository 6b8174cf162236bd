// SPDX-License-Identifier: Apache-2.0

// Why a device was idle, derived from its host's activity in that time (docs/schema.md, gap).
//
// The first rule that matches decides. Names are those of CUDA's API and of XLA's and JAX's ranges.
// 1. Compilation took more than half of the gap: `compile` (found by GapFinder).
// 2. The next activity was launched well before the gap began, or long before the gap ended
//    (analysis/launch_queue.h). Then the host did not delay the device: `copy` if rule 5 applies,
//    otherwise `unknown`.
// 3. A range named after a data loader covers most of the gap: `input`.
//    If the call that launches the next activity (not a copy) itself covers most of the gap, and
//    at least 100 us of it, the driver delayed the host: `host`.
// 4. A host call was waiting for the device when the gap began, and returned within the gap. The
//    rest of the gap is the host's catching up: `synchronisation`. Later gaps have this cause too,
//    while the waiting thread launches again, until it waits again or launches nothing for 1 ms.
//    Without the wait, the thread's later work would start earlier by at most the waiting time. So
//    the gaps are charged to the wait in order until they sum to that time (the last one counts if
//    more than half of it fits). This limit protects a host that is slower than the device and
//    hardly waits. A wait may have no call: a value of at most 64 KiB was copied to the host, and
//    the next activity was launched after that copy.
// 5. The activity before or after the gap is a copy from or to the host, and could have delayed the
//    host: `copy`.
//    Excluded are copies that the host called in the second half of the gap (the host was late),
//    and copies to the device whose call returned before the copy ended. Also excluded are copies
//    that the host waited for, if by rule 4 the wait was too short.
// 6. Launch calls cover most of the gap, or it is short and inside one execution: `launch_bound`.
// 7. Another host range covers most of the gap, or the host was late: `host`. Late means that the
//    call (or the module's range) that starts the next activity began after the device became
//    idle. Without any of these: `unknown`.
//    Without recorded calls, a range of a later program or thunk shows that the host is ahead: it
//    had launched the next activity before, and the cause is `unknown`.
// Calls and ranges of a thread that works for another device (launch_threads.h) do not count.
// Gaps of similar length between the same two instructions get the cause that most of them have.
//
// A Python function or module (PyTorch's with_stack) is only a place. It decides no cause, and
// appears only in the words of a gap.
// `host_range_id` is the innermost range that covers most of the gap, on the thread that launches
// the next activity. Without such a range it is the range of the late launch.
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

// Returns the API calls and ranges of all processes that overlap any of the intervals, in any
// order. The intervals are sorted and do not overlap.
using HostEventLoader = std::function<std::vector<model::HostEvent>(const Intervals& within)>;

// Shorter gaps get no cause. Clocks of host and device differ by as much, and a queue that is never
// empty has such gaps between kernels.
inline constexpr int64_t kLeastJudgedGapNs = 5'000;

// Fills cause and host_range_id of gaps of at least 5 us whose cause is unknown. Both functions may
// be empty. Returns a description of the longest gaps, by position. It has the innermost range that
// covers most of the gap, the place between the ranges within it, and the long calls.
std::vector<model::GapEvidenceRow> FindGapCauses(const model::RunTables& run,
                                                 const model::AttributionTables& attribution,
                                                 const HostEventLoader& load_events,
                                                 const HostCallOf& call_of,
                                                 std::vector<model::GapRow>& gaps);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_GAP_CAUSE_H_
