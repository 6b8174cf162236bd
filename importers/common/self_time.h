// SPDX-License-Identifier: Apache-2.0

// Self time of activities that lie on one line and nest: every instant belongs to the activity that
// started last and still runs, so the self times of a line sum to the union of its intervals, also
// where a damaged or unsorted line has activities that overlap without nesting.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_IMPORTERS_COMMON_SELF_TIME_H_
#define XLATRACE_IMPORTERS_COMMON_SELF_TIME_H_

#include <vector>

#include "model/events.h"

namespace xlatrace::importers {

// Sorts by start (longer first, then as given) and fills self_ns: -1 where it is the whole
// duration.
void SortAndSetSelfTimes(std::vector<model::Activity>& activities);

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_COMMON_SELF_TIME_H_
