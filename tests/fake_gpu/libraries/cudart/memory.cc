// SPDX-License-Identifier: Apache-2.0
// Memory: allocation, copies, fills. Device memory of the fake driver is host memory, and copies
// really move bytes.
#include <cupti_runtime_cbid.h>
#include <generated_cuda_runtime_api_meta.h>

#include "tests/fake_gpu/libraries/cudart/runtime.h"
#include "tests/fake_gpu/libraries/export.h"

using xlatrace::fake::EnsureContext;
using xlatrace::fake::Error;

namespace {

CUdeviceptr Pointer(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

CUresult Ready() {
  CUcontext context = nullptr;
  return EnsureContext(&context);
}

CUresult Copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, CUstream stream) {
  const CUresult ready = Ready();
  if (ready != CUDA_SUCCESS) return ready;
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return DRIVER(cuMemcpyHtoDAsync, Pointer(to), from, bytes, stream);
    case cudaMemcpyDeviceToHost:
      return DRIVER(cuMemcpyDtoHAsync, to, Pointer(from), bytes, stream);
    case cudaMemcpyDeviceToDevice:
      return DRIVER(cuMemcpyDtoDAsync, Pointer(to), Pointer(from), bytes, stream);
    default:
      return DRIVER(cuMemcpyAsync, Pointer(to), Pointer(from), bytes, stream);
  }
}

}  // namespace

FAKE_EXPORT cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  XLATRACE_RUNTIME_CALL(cudaMalloc, v3020, {pointer, bytes});
  CUresult result = Ready();
  if (result == CUDA_SUCCESS) {
    result = DRIVER(cuMemAlloc, reinterpret_cast<CUdeviceptr*>(pointer), bytes);
  }
  return call.Return(result);
}
FAKE_EXPORT cudaError_t cudaFree(void* pointer) {
  XLATRACE_RUNTIME_CALL(cudaFree, v3020, {pointer});
  CUresult result = Ready();
  if (result == CUDA_SUCCESS && pointer != nullptr) result = DRIVER(cuMemFree, Pointer(pointer));
  return call.Return(result);
}
FAKE_EXPORT cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  XLATRACE_RUNTIME_CALL(cudaMallocAsync, v11020, {pointer, bytes, stream});
  CUresult result = Ready();
  if (result == CUDA_SUCCESS) {
    result = DRIVER(cuMemAllocAsync, reinterpret_cast<CUdeviceptr*>(pointer), bytes, stream);
  }
  return call.Return(result);
}
FAKE_EXPORT cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  XLATRACE_RUNTIME_CALL(cudaFreeAsync, v11020, {pointer, stream});
  return call.Return(DRIVER(cuMemFreeAsync, Pointer(pointer), stream));
}
FAKE_EXPORT cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  XLATRACE_RUNTIME_CALL(cudaHostAlloc, v3020, {pointer, bytes, flags});
  CUresult result = Ready();
  if (result == CUDA_SUCCESS) result = DRIVER(cuMemHostAlloc, pointer, bytes, flags);
  return call.Return(result);
}
FAKE_EXPORT cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  return cudaHostAlloc(pointer, bytes, 0);
}
FAKE_EXPORT cudaError_t cudaFreeHost(void* pointer) {
  XLATRACE_RUNTIME_CALL(cudaFreeHost, v3020, {pointer});
  return call.Return(DRIVER(cuMemFreeHost, pointer));
}
FAKE_EXPORT cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  const CUresult ready = Ready();
  return Error(ready == CUDA_SUCCESS ? DRIVER(cuMemGetInfo, free, total) : ready);
}

FAKE_EXPORT cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes,
                                        cudaMemcpyKind kind, cudaStream_t stream) {
  XLATRACE_RUNTIME_CALL(cudaMemcpyAsync, v3020, {to, from, bytes, kind, stream});
  return call.Return(Copy(to, from, bytes, kind, stream));
}
FAKE_EXPORT cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  XLATRACE_RUNTIME_CALL(cudaMemcpy, v3020, {to, from, bytes, kind});
  CUresult result = Copy(to, from, bytes, kind, nullptr);
  if (result == CUDA_SUCCESS) result = DRIVER(cuStreamSynchronize, nullptr);
  return call.Return(result);
}
FAKE_EXPORT cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  XLATRACE_RUNTIME_CALL(cudaMemsetAsync, v3020, {to, value, bytes, stream});
  CUresult result = Ready();
  if (result == CUDA_SUCCESS) {
    result = DRIVER(cuMemsetD8Async, Pointer(to), static_cast<unsigned char>(value), bytes, stream);
  }
  return call.Return(result);
}
FAKE_EXPORT cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  return cudaMemsetAsync(to, value, bytes, nullptr);
}

FAKE_EXPORT cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes,
                                                 const void* pointer) {
  *attributes = {};
  CUmemorytype type = CU_MEMORYTYPE_HOST;
  if (DRIVER(cuPointerGetAttribute, &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, Pointer(pointer)) !=
      CUDA_SUCCESS) {
    attributes->type = cudaMemoryTypeUnregistered;
    attributes->hostPointer = const_cast<void*>(pointer);
    return cudaSuccess;
  }
  attributes->type = type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice : cudaMemoryTypeHost;
  DRIVER(cuPointerGetAttribute, &attributes->device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
         Pointer(pointer));
  attributes->devicePointer = const_cast<void*>(pointer);
  attributes->hostPointer = type == CU_MEMORYTYPE_DEVICE ? nullptr : const_cast<void*>(pointer);
  return cudaSuccess;
}
