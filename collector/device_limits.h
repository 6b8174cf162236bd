// SPDX-License-Identifier: Apache-2.0

// Limits of a device from the driver's attributes. Some are not in CUPTI's record (opt-in and
// reserved shared memory). If CUPTI delivered no record, all limits are read from the driver.

#ifndef XLATRACE_COLLECTOR_DEVICE_LIMITS_H_
#define XLATRACE_COLLECTOR_DEVICE_LIMITS_H_

#include <cuda.h>

#include <cstdint>

#include "collector/definitions.h"

namespace xlatrace::collector {

// Adds a DeviceRow for the device with this ordinal. Calls the driver (attribute queries, which
// need no context): for the flusher thread, never inside a callback.
void AddDeviceLimits(uint32_t device, Definitions& definitions);
// Version of the driver, as returned by cuDriverGetVersion (13000 = CUDA 13.0); 0: unknown.
int DriverVersion();
// nullptr = not known. Outside of CUPTI's callbacks only.
CUcontext ContextOfStream(CUstream stream);

}  // namespace xlatrace::collector

#endif  // XLATRACE_COLLECTOR_DEVICE_LIMITS_H_
