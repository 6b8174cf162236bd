// SPDX-License-Identifier: Apache-2.0

// Who is who in a job: numbers and names of its ranks, and one count of steps for all of them.
//
// Thread-safety: pure but for the job that is given.

#ifndef XLATRACE_FLEET_RANK_NUMBERS_H_
#define XLATRACE_FLEET_RANK_NUMBERS_H_

#include "fleet/job.h"

namespace xlatrace::fleet {

// Numbers and names the ranks, sorts them by number and device, and says which are missing and
// which run other programs than most. The launcher's rank where every process has one; else hosts
// by name and processes in the order in which they were named. `job.ranks` is not empty.
void NumberRanks(Job& job);

// Steps as the first rank counts that has as many of them as any.
void NumberSteps(Job& job);

}  // namespace xlatrace::fleet

#endif  // XLATRACE_FLEET_RANK_NUMBERS_H_
