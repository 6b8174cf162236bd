// SPDX-License-Identifier: Apache-2.0

// CUPTI's second interface: the functions of the first with the subscriber in front, for several
// subscribers at a time. From 13.3 on (13.2: beta). Headers that have them declare them themselves.
#include <cupti_version.h>

#include "cupti/refuse.h"
#include "cupti/state.h"

#if CUPTI_API_VERSION < 130200

namespace fakegpu::cupti {
namespace {

// True: not served.
bool RefusesV2(const char* function, CUpti_SubscriberHandle subscriber, CUptiResult* refused) {
  if (Refuses(function, refused)) return true;
  if (ApiVersion() < 130200) {
    *refused = NotSupported(function);
    return true;
  }
  State& state = TheState();
  // Who came in by the first interface is no subscriber of the second.
  if (!state.second_interface || subscriber != reinterpret_cast<CUpti_SubscriberHandle>(&state)) {
    *refused = CUPTI_ERROR_INVALID_PARAMETER;
    return true;
  }
  return false;
}

}  // namespace
}  // namespace fakegpu::cupti

#define SERVED(name)   \
  CUptiResult refused; \
  if (fakegpu::cupti::RefusesV2(name, subscriber, &refused)) return refused

extern "C" {

FAKE_GPU_EXPORT CUptiResult cuptiActivityRegisterCallbacks_v2(CUpti_SubscriberHandle subscriber,
                                                              fakegpu::cupti::RequestV2 request,
                                                              fakegpu::cupti::CompleteV2 complete) {
  SERVED("cuptiActivityRegisterCallbacks_v2");
  if (request == nullptr || complete == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  fakegpu::cupti::State& state = fakegpu::cupti::TheState();
  state.complete_v2.store(complete, std::memory_order_release);
  state.request_v2.store(request, std::memory_order_release);
  return CUPTI_SUCCESS;
}

FAKE_GPU_EXPORT CUptiResult cuptiActivityEnable_v2(CUpti_SubscriberHandle subscriber,
                                                   CUpti_ActivityKind kind, void*) {
  SERVED("cuptiActivityEnable_v2");
  fakegpu::cupti::State& state = fakegpu::cupti::TheState();
  if (kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE && !state.graph_trace_allowed) {
    // 13.3 goes on with records of nodes.
    return fakegpu::cupti::ApiVersion() < 130400 ? CUPTI_SUCCESS : CUPTI_ERROR_NOT_COMPATIBLE;
  }
  state.any_kind = true;
  return fakegpu::cupti::impl::cuptiActivityEnable(kind);
}

FAKE_GPU_EXPORT CUptiResult cuptiActivityGetNextRecord_v2(CUpti_SubscriberHandle subscriber,
                                                          uint8_t* buffer, size_t valid,
                                                          CUpti_Activity** record) {
  SERVED("cuptiActivityGetNextRecord_v2");
  return fakegpu::cupti::impl::cuptiActivityGetNextRecord(buffer, valid, record);
}

FAKE_GPU_EXPORT CUptiResult cuptiActivitySetAttribute_v2(CUpti_SubscriberHandle subscriber,
                                                         CUpti_ActivityAttribute attribute,
                                                         size_t* size, void* value) {
  SERVED("cuptiActivitySetAttribute_v2");
  // ENABLE_MULTI_SUBSCRIBER_GRAPH_TRACE of 13.3 and later: before any kind is enabled.
  if (static_cast<int>(attribute) == 20) {
    fakegpu::cupti::State& state = fakegpu::cupti::TheState();
    if (value == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
    if (state.any_kind) return CUPTI_ERROR_NOT_COMPATIBLE;
    state.graph_trace_allowed = *static_cast<const uint8_t*>(value) != 0;
    return CUPTI_SUCCESS;
  }
  return fakegpu::cupti::impl::cuptiActivitySetAttribute(attribute, size, value);
}

FAKE_GPU_EXPORT CUptiResult cuptiActivityGetNumDroppedRecords_v2(CUpti_SubscriberHandle subscriber,
                                                                 CUcontext context, uint32_t stream,
                                                                 size_t* dropped) {
  SERVED("cuptiActivityGetNumDroppedRecords_v2");
  return fakegpu::cupti::impl::cuptiActivityGetNumDroppedRecords(context, stream, dropped);
}

FAKE_GPU_EXPORT CUptiResult cuptiGetTimestamp_v2(CUpti_SubscriberHandle subscriber,
                                                 uint64_t* timestamp) {
  SERVED("cuptiGetTimestamp_v2");
  return fakegpu::cupti::impl::cuptiGetTimestamp(timestamp);
}

}  // extern "C"

#endif  // CUPTI_API_VERSION < 130200
