// SPDX-License-Identifier: Apache-2.0

// Calls without work for the device: copies and sets of no bytes.
//
// XLA makes such calls for parameters of shape [0]. They start no work, so CUPTI has no record of
// them, and no record is lost. Sources: generated_cuda_meta.h and generated_cuda_runtime_api_meta.h
// of CUPTI 13.0, whose structures keep their layout under a callback id.

#ifndef XLATRACE_COLLECTOR_EMPTY_CALLS_H_
#define XLATRACE_COLLECTOR_EMPTY_CALLS_H_

#include <cstdint>

namespace xlatrace::collector {

// `params`: CUpti_CallbackData::functionParams, may be null. False for calls of other functions.
// Any thread.
bool IsEmptyCall(bool runtime, uint32_t function, const void* params);

}  // namespace xlatrace::collector

#endif  // XLATRACE_COLLECTOR_EMPTY_CALLS_H_
