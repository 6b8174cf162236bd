// SPDX-License-Identifier: Apache-2.0
#include "collector/empty_calls.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti.h>

namespace xlatrace::collector {
namespace {

// `call`: name of the function with its version, as callback ids and structures have it.
#define XLATRACE_DRIVER(call, amount)                    \
  case CUPTI_DRIVER_TRACE_CBID_##call: {                 \
    using Params = call##_params;                        \
    const auto& p = *static_cast<const Params*>(params); \
    return (amount) == 0;                                \
  }
// The same with a default stream per thread has an id of its own.
#define XLATRACE_DRIVER_DS(call, amount) \
  XLATRACE_DRIVER(call, amount)          \
  XLATRACE_DRIVER(call##_ptds, amount)
#define XLATRACE_DRIVER_SZ(call, amount) \
  XLATRACE_DRIVER(call, amount)          \
  XLATRACE_DRIVER(call##_ptsz, amount)
#define XLATRACE_RUNTIME(call, amount)                   \
  case CUPTI_RUNTIME_TRACE_CBID_##call: {                \
    using Params = call##_params;                        \
    const auto& p = *static_cast<const Params*>(params); \
    return (amount) == 0;                                \
  }

bool IsEmptyDriverCall(uint32_t function, const void* params) {
  switch (function) {
    XLATRACE_DRIVER_DS(cuMemcpy, p.ByteCount)
    XLATRACE_DRIVER_DS(cuMemcpyHtoD_v2, p.ByteCount)
    XLATRACE_DRIVER_DS(cuMemcpyDtoH_v2, p.ByteCount)
    XLATRACE_DRIVER_DS(cuMemcpyDtoD_v2, p.ByteCount)
    XLATRACE_DRIVER_DS(cuMemcpyPeer, p.ByteCount)
    XLATRACE_DRIVER_SZ(cuMemcpyAsync, p.ByteCount)
    XLATRACE_DRIVER_SZ(cuMemcpyHtoDAsync_v2, p.ByteCount)
    XLATRACE_DRIVER_SZ(cuMemcpyDtoHAsync_v2, p.ByteCount)
    XLATRACE_DRIVER_SZ(cuMemcpyDtoDAsync_v2, p.ByteCount)
    XLATRACE_DRIVER_SZ(cuMemcpyPeerAsync, p.ByteCount)
    XLATRACE_DRIVER_DS(cuMemsetD8_v2, p.N)
    XLATRACE_DRIVER_DS(cuMemsetD16_v2, p.N)
    XLATRACE_DRIVER_DS(cuMemsetD32_v2, p.N)
    XLATRACE_DRIVER_SZ(cuMemsetD8Async, p.N)
    XLATRACE_DRIVER_SZ(cuMemsetD16Async, p.N)
    XLATRACE_DRIVER_SZ(cuMemsetD32Async, p.N)
    XLATRACE_DRIVER_SZ(cuMemsetD2D8Async, p.Width * p.Height)
    XLATRACE_DRIVER_SZ(cuMemsetD2D16Async, p.Width * p.Height)
    XLATRACE_DRIVER_SZ(cuMemsetD2D32Async, p.Width * p.Height)
    default:
      return false;
  }
}

bool IsEmptyRuntimeCall(uint32_t function, const void* params) {
  switch (function) {
    XLATRACE_RUNTIME(cudaMemcpy_v3020, p.count)
    XLATRACE_RUNTIME(cudaMemcpy_ptds_v7000, p.count)
    XLATRACE_RUNTIME(cudaMemcpyAsync_v3020, p.count)
    XLATRACE_RUNTIME(cudaMemcpyAsync_ptsz_v7000, p.count)
    XLATRACE_RUNTIME(cudaMemcpyPeer_v4000, p.count)
    XLATRACE_RUNTIME(cudaMemcpyPeerAsync_v4000, p.count)
    XLATRACE_RUNTIME(cudaMemset_v3020, p.count)
    XLATRACE_RUNTIME(cudaMemset_ptds_v7000, p.count)
    XLATRACE_RUNTIME(cudaMemsetAsync_v3020, p.count)
    XLATRACE_RUNTIME(cudaMemsetAsync_ptsz_v7000, p.count)
    XLATRACE_RUNTIME(cudaMemcpy2DAsync_v3020, p.width * p.height)
    XLATRACE_RUNTIME(cudaMemcpy2DAsync_ptsz_v7000, p.width * p.height)
    default:
      return false;
  }
}

#undef XLATRACE_DRIVER
#undef XLATRACE_DRIVER_DS
#undef XLATRACE_DRIVER_SZ
#undef XLATRACE_RUNTIME

}  // namespace

bool IsEmptyCall(bool runtime, uint32_t function, const void* params) {
  if (params == nullptr) return false;
  return runtime ? IsEmptyRuntimeCall(function, params) : IsEmptyDriverCall(function, params);
}

}  // namespace xlatrace::collector
