// SPDX-License-Identifier: Apache-2.0

// The CUPTI functions that the collector uses, found at run time, because the collector links no
// CUDA library. A function that the loaded libcupti lacks is nullptr. required() is true if all
// necessary functions are present.
//
// No function may be called before libcuda.so.1 is in the process. Otherwise CUPTI 13.2 recurses
// infinitely (cuptiGetVersion, observed with 13.2.86). InitializeInjection runs inside cuInit,
// where the library is always loaded.

#ifndef XLATRACE_COLLECTOR_CUPTI_API_H_
#define XLATRACE_COLLECTOR_CUPTI_API_H_

#include <cuda.h>
#include <cupti.h>

#include <cstdint>
#include <string>

#include "collector/cupti_v2.h"

namespace xlatrace::collector {

// X-macro: every function once.
#define XLATRACE_CUPTI_REQUIRED(X)  \
  X(cuptiGetVersion)                \
  X(cuptiSubscribe)                 \
  X(cuptiEnableCallback)            \
  X(cuptiActivityRegisterCallbacks) \
  X(cuptiActivityEnable)            \
  X(cuptiActivityFlushAll)          \
  X(cuptiActivityGetNextRecord)

#define XLATRACE_CUPTI_OPTIONAL(X)     \
  X(cuptiSubscribe_v2)                 \
  X(cuptiUnsubscribe)                  \
  X(cuptiActivitySetAttribute)         \
  X(cuptiActivityGetNumDroppedRecords) \
  X(cuptiGetTimestamp)                 \
  X(cuptiGetResultString)              \
  X(cuptiGetCallbackName)              \
  X(cuptiGetContextId)                 \
  X(cuptiGetDeviceId)                  \
  X(cuptiGetGraphId)                   \
  X(cuptiGetGraphNodeId)               \
  X(cuptiGetStreamIdEx)

struct CuptiApi {
#define XLATRACE_FIELD(name) decltype(&::name) name = nullptr;
  XLATRACE_CUPTI_REQUIRED(XLATRACE_FIELD)
  XLATRACE_CUPTI_OPTIONAL(XLATRACE_FIELD)
#undef XLATRACE_FIELD

  std::string path;      // Path of the library in use.
  uint32_t version = 0;  // cuptiGetVersion: 18..28 for CUDA 11.8 to 12.9, then MMmmuu.

  // Our handle in the second interface after a subscription through it. Then only its functions are
  // used, because the two interfaces may not be mixed.
  cupti_v2::Functions v2;
  CUpti_SubscriberHandle v2_subscriber = nullptr;
  // `driver_version`: the result of cuDriverGetVersion.
  bool CanUseV2(int driver_version) const {
    return version >= cupti_v2::kMinCuptiVersion && driver_version >= cupti_v2::kMinDriverVersion &&
           v2.complete();
  }

  // By the interface in use.
  CUptiResult Enable(CUpti_ActivityKind kind) const;
  CUptiResult SetAttribute(CUpti_ActivityAttribute attribute, size_t* size, void* value) const;
  CUptiResult Dropped(size_t* records) const;
  CUptiResult Timestamp(uint64_t* ns) const;
  CUptiResult NextRecord(uint8_t* buffer, size_t bytes, CUpti_Activity** record) const {
    return v2_subscriber != nullptr
               ? v2.cuptiActivityGetNextRecord_v2(v2_subscriber, buffer, bytes, record)
               : cuptiActivityGetNextRecord(buffer, bytes, record);
  }

  // "39 (CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)"
  std::string Describe(CUptiResult result) const;
};

// Finds libcupti. Order: XLATRACE_CUPTI, the library in the process, the library beside the
// process's CUDA libraries, the library by name. Returns false with a sentence in `error` if all
// fail.
bool LoadCupti(CuptiApi* api, std::string* error);

}  // namespace xlatrace::collector

#endif  // XLATRACE_COLLECTOR_CUPTI_API_H_
