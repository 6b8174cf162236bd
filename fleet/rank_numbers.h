// SPDX-License-Identifier: Apache-2.0

// Numbers and names of the ranks of a job, and common step numbers.
//
// Thread-safety: pure, except for the given job.

#ifndef XLATRACE_FLEET_RANK_NUMBERS_H_
#define XLATRACE_FLEET_RANK_NUMBERS_H_

#include "fleet/job.h"

namespace xlatrace::fleet {

// Numbers and names the ranks, sorts them by number and device, and reports missing ranks and ranks
// with other programs than most. If every process has a rank number of its launcher, these numbers
// are used. Otherwise ranks are ordered by host name and then by input order. `job.ranks` must not
// be empty.
void NumberRanks(Job& job);

// Uses the step numbers of the first rank with the largest number of steps.
void NumberSteps(Job& job);

}  // namespace xlatrace::fleet

#endif  // XLATRACE_FLEET_RANK_NUMBERS_H_
