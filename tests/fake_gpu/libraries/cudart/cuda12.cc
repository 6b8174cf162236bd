// SPDX-License-Identifier: Apache-2.0
// Functions that only the runtime of CUDA 12 has, or that differ from CUDA 13. Built with the
// headers of CUDA 12, whose struct of device properties is different.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstring>

#include "tests/fake_gpu/libraries/cudart/driver.h"
#include "tests/fake_gpu/libraries/export.h"

static_assert(CUDART_VERSION / 1000 == 12);

namespace {

cudaError_t Error(CUresult result) { return static_cast<cudaError_t>(result); }

}  // namespace

FAKE_EXPORT cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

// The header gives it the name cudaGetDeviceProperties_v2.
FAKE_EXPORT cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  const CUresult result = DRIVER(cuInit, 0);
  if (result != CUDA_SUCCESS) return Error(result);
  const auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    DRIVER(cuDeviceGetAttribute, &value, which, device);
    return value;
  };
  std::memset(static_cast<void*>(properties), 0, sizeof *properties);
  DRIVER(cuDeviceGetName, properties->name, static_cast<int>(sizeof properties->name), device);
  DRIVER(cuDeviceGetUuid, reinterpret_cast<CUuuid*>(&properties->uuid), device);
  DRIVER(cuDeviceTotalMem, &properties->totalGlobalMem, device);
  properties->major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  properties->minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  properties->multiProcessorCount = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  properties->clockRate = attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  properties->memoryClockRate = attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  properties->memoryBusWidth = attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  properties->warpSize = attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  properties->maxThreadsPerBlock = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  properties->maxThreadsPerMultiProcessor =
      attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  properties->sharedMemPerBlock = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  properties->sharedMemPerBlockOptin =
      attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  properties->sharedMemPerMultiprocessor =
      attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  properties->regsPerBlock = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  properties->regsPerMultiprocessor =
      attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  properties->l2CacheSize = attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  properties->maxGridSize[0] = attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
  properties->maxGridSize[1] = attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
  properties->maxGridSize[2] = attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
  properties->maxThreadsDim[0] = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
  properties->maxThreadsDim[1] = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
  properties->maxThreadsDim[2] = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
  properties->unifiedAddressing = 1;
  return cudaSuccess;
}

FAKE_EXPORT cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
                                              void* data, unsigned flags) {
  return Error(DRIVER(cuStreamAddCallback, stream, reinterpret_cast<CUstreamCallback>(callback),
                      data, flags));
}

FAKE_EXPORT cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
