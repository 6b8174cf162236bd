// SPDX-License-Identifier: Apache-2.0

// The result for a job: the rank that the other ranks wait for, from the own times and waiting
// times of its ranks.
//
// Thread-safety: pure, except for the given job.
//
// Thread-safety: pure but for the job that is given.

#ifndef XLATRACE_FLEET_JOB_ANSWER_H_
#define XLATRACE_FLEET_JOB_ANSWER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fleet/job.h"
#include "fleet/pairing.h"
#include "fleet/skew.h"

namespace xlatrace::fleet {

// Describes the collectives whose waiting time is not known: "collectives of which ...".
// `largest_group`: the largest group of the job, 0 if none is known.
std::string UnpairedWords(int64_t largest_group, size_t ranks);

// Fills `job.answer` and `job.by_cost`. `unpaired_ns`: exposed time in the steady steps of all
// ranks in collectives with unknown groups (`unpaired` describes them). If it is large, no rank is
// named.
void AnswerJob(const Skew& skew, const Pairing& pairing, int64_t unpaired_ns,
               std::string_view unpaired, Job& job);

}  // namespace xlatrace::fleet

#endif  // XLATRACE_FLEET_JOB_ANSWER_H_
