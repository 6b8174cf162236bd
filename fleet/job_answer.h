// SPDX-License-Identifier: Apache-2.0

// The answer of a job: who is waited for, by what its ranks did and waited in each step.
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

// Collectives whose waiting is not known, in words: "collectives of which ...".
// `largest_group`: of the job, 0 where none is known.
std::string UnpairedWords(int64_t largest_group, size_t ranks);

// Fills `job.answer` and `job.by_cost`. `unpaired_ns`: of all ranks' steady steps, beside which
// nothing computed, in collectives of which it is not known who takes part (`unpaired`, in words):
// where that is much nobody is named.
void AnswerJob(const Skew& skew, const Pairing& pairing, int64_t unpaired_ns,
               std::string_view unpaired, Job& job);

}  // namespace xlatrace::fleet

#endif  // XLATRACE_FLEET_JOB_ANSWER_H_
