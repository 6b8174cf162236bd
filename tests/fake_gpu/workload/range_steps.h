// SPDX-License-Identifier: Apache-2.0

// Instructions about NVTX: ranges around a block, what an executable registers, names.
#ifndef FAKE_GPU_WORKLOAD_RANGE_STEPS_H_
#define FAKE_GPU_WORKLOAD_RANGE_STEPS_H_

#include "workload/ranges.h"
#include "workload/script.h"
#include "workload/words.h"

namespace fakegpu {

// "module", "thunk", "range", "other", "nccl": ranges around a block.
bool IsRange(const Step& step);
void PushOf(const Place& place, const Step& step);
void PopOf(const Place& place, const Step& step);

// "executable NAME ID { op ...; ... }"
void RegisterOf(const Place& place, const Step& step);

}  // namespace fakegpu

#endif  // FAKE_GPU_WORKLOAD_RANGE_STEPS_H_
