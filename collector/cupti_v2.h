// SPDX-License-Identifier: Apache-2.0

// CUPTI's second interface, for several subscribers at a time: functions with the subscriber as
// first argument. It is beta in CUDA 13.2 and released in 13.3; the driver must be of that release,
// too. Used from 13.3 Update 1 on, whose release notes list a fixed crash of several subscribers.
// Declared here, because the collector's build headers may be older. Source: cupti_activity.h and
// cupti_callbacks.h of CUDA 13.3 and 13.4.
//
// Without CUPTI_ACTIVITY_ATTR_USER_DEFINED_RECORDS, which is off by default, records have all their
// fields at the same offsets as in the first interface.

#ifndef XLATRACE_COLLECTOR_CUPTI_V2_H_
#define XLATRACE_COLLECTOR_CUPTI_V2_H_

#include <cuda.h>
#include <cupti.h>

#include <cstddef>
#include <cstdint>

namespace xlatrace::collector::cupti_v2 {

inline constexpr uint32_t kMinCuptiVersion = 130301;
// "Requires CUDA 13.3 and driver r610" (CUPTI manual 2.4.1). A wheel of JAX brings a CUPTI that may
// be newer than the driver.
inline constexpr int kMinDriverVersion = 13030;

struct SubscriberParams {
  size_t struct_size = 0;
  const char* subscriber_name = nullptr;
  char* old_subscriber_name = nullptr;  // Name of the earlier subscriber.
  size_t old_subscriber_size = 0;
  uint8_t allow_multiple_subscribers = 0;
  uint8_t padding[7] = {};
};
static_assert(sizeof(SubscriberParams) == 40);

using Request = void(CUPTIAPI*)(uint8_t** buffer, size_t* bytes, size_t* max_records, void* info);
using Complete = void(CUPTIAPI*)(uint8_t* buffer, size_t bytes, size_t valid_bytes, void* info);

// nullptr where this CUPTI has none.
struct Functions {
  CUptiResult (*cuptiSubscribe_v2)(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*,
                                   SubscriberParams*) = nullptr;
  CUptiResult (*cuptiActivityRegisterCallbacks_v2)(CUpti_SubscriberHandle, Request,
                                                   Complete) = nullptr;
  CUptiResult (*cuptiActivityEnable_v2)(CUpti_SubscriberHandle, CUpti_ActivityKind,
                                        void* config) = nullptr;
  CUptiResult (*cuptiActivityGetNextRecord_v2)(CUpti_SubscriberHandle, uint8_t*, size_t,
                                               CUpti_Activity**) = nullptr;
  // Optional.
  CUptiResult (*cuptiActivitySetAttribute_v2)(CUpti_SubscriberHandle, CUpti_ActivityAttribute,
                                              size_t*, void*) = nullptr;
  CUptiResult (*cuptiActivityGetNumDroppedRecords_v2)(CUpti_SubscriberHandle, CUcontext, uint32_t,
                                                      size_t*) = nullptr;
  CUptiResult (*cuptiGetTimestamp_v2)(CUpti_SubscriberHandle, uint64_t*) = nullptr;

  bool complete() const {
    return cuptiSubscribe_v2 != nullptr && cuptiActivityRegisterCallbacks_v2 != nullptr &&
           cuptiActivityEnable_v2 != nullptr && cuptiActivityGetNextRecord_v2 != nullptr;
  }
};

}  // namespace xlatrace::collector::cupti_v2

#endif  // XLATRACE_COLLECTOR_CUPTI_V2_H_
