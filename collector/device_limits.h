// Limits of a device that CUPTI's record does not have (opt-in and reserved shared memory), and all
// the rest again where no record came, from the driver's attributes.

#ifndef XLATRACE_COLLECTOR_DEVICE_LIMITS_H_
#define XLATRACE_COLLECTOR_DEVICE_LIMITS_H_

#include <cstdint>

#include "recording/writer.h"

namespace xlatrace::collector {

// Adds a DeviceRow for the device with this ordinal. Calls the driver (attribute queries, which
// need no context): for the collector's own threads, never inside a callback.
void WriteDeviceLimits(uint32_t device, recording::Writer& writer);

}  // namespace xlatrace::collector

#endif  // XLATRACE_COLLECTOR_DEVICE_LIMITS_H_
