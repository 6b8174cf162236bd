// SPDX-License-Identifier: Apache-2.0

// Runs before every function of the fake CUPTI: faults of the scenario, a missing driver.
#ifndef FAKE_GPU_CUPTI_REFUSE_H_
#define FAKE_GPU_CUPTI_REFUSE_H_

#include <cuda.h>
#include <cupti_result.h>

#define FAKE_GPU_EXPORT __attribute__((visibility("default")))

namespace fakegpu::cupti {

// True when the call of `function` must not be served; `refused` is what it returns.
bool Refuses(const char* function, CUptiResult* refused);
CUptiResult NotSupported(const char* function);

}  // namespace fakegpu::cupti

#endif  // FAKE_GPU_CUPTI_REFUSE_H_
