// SPDX-License-Identifier: Apache-2.0

// Beginning and end of the driver's life in a process: cuInit, the injected tool, fork.
#ifndef FAKE_GPU_DRIVER_LIFE_H_
#define FAKE_GPU_DRIVER_LIFE_H_

#include "fake_gpu.h"

namespace fakegpu {

// CUDA_SUCCESS when calls may be served: after cuInit, and not in a fork child of a process that
// had called it.
CUresult LifeState();

void EnterRuntime(FakeGpuCall* call);
void ExitRuntime(FakeGpuCall* call, int result);

// Reports an event of an object to the tool.
void ReportResource(FakeGpuResource resource);
void ReportSync(FakeGpuSync sync);
void ReportEvent(FakeGpuEvent event);

const FakeGpuTable* PrivateTable();

}  // namespace fakegpu

#endif  // FAKE_GPU_DRIVER_LIFE_H_
