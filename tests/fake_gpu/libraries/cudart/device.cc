// SPDX-License-Identifier: Apache-2.0
// Devices, versions and names.
#include <cstring>

#include "tests/fake_gpu/libraries/cudart/runtime.h"
#include "tests/fake_gpu/libraries/export.h"

using xlatrace::fake::ChooseDevice;
using xlatrace::fake::CurrentDevice;
using xlatrace::fake::EnsureContext;
using xlatrace::fake::Error;

#ifndef FAKE_CUDA_12  // cuda12.cc has those of CUDA 12.
// The runtime of the headers that this is built with.
FAKE_EXPORT cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
#endif
FAKE_EXPORT cudaError_t cudaDriverGetVersion(int* version) {
  *version = 0;
  DRIVER(cuDriverGetVersion, version);
  return cudaSuccess;
}
FAKE_EXPORT cudaError_t cudaGetDeviceCount(int* count) {
  const CUresult result = DRIVER(cuInit, 0);
  return Error(result == CUDA_SUCCESS ? DRIVER(cuDeviceGetCount, count) : result);
}
FAKE_EXPORT cudaError_t cudaGetDevice(int* device) { return Error(CurrentDevice(device)); }
FAKE_EXPORT cudaError_t cudaSetDevice(int device) { return ChooseDevice(device); }
FAKE_EXPORT cudaError_t cudaInitDevice(int, unsigned, unsigned) { return cudaSuccess; }
FAKE_EXPORT cudaError_t cudaDeviceSynchronize() {
  CUcontext context = nullptr;
  const CUresult ready = EnsureContext(&context);
  return Error(ready == CUDA_SUCCESS ? DRIVER(cuCtxSynchronize) : ready);
}
FAKE_EXPORT cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  // The two enumerations have the same numbers.
  return Error(
      DRIVER(cuDeviceGetAttribute, value, static_cast<CUdevice_attribute>(attribute), device));
}
FAKE_EXPORT cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return Error(DRIVER(cuDeviceCanAccessPeer, can, device, peer));
}

#ifndef FAKE_CUDA_12
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
  properties->warpSize = attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  properties->maxThreadsPerBlock = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  properties->maxThreadsPerMultiProcessor =
      attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  properties->maxBlocksPerMultiProcessor =
      attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  properties->sharedMemPerBlock = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  properties->sharedMemPerBlockOptin =
      attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  properties->sharedMemPerMultiprocessor =
      attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  properties->regsPerBlock = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  properties->regsPerMultiprocessor =
      attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  properties->memoryBusWidth = attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  properties->l2CacheSize = attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  properties->maxGridSize[0] = attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
  properties->maxGridSize[1] = attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
  properties->maxGridSize[2] = attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
  properties->maxThreadsDim[0] = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
  properties->maxThreadsDim[1] = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
  properties->maxThreadsDim[2] = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
  properties->cooperativeLaunch = attribute(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
  properties->unifiedAddressing = 1;
  return cudaSuccess;
}

#endif

FAKE_EXPORT const char* cudaGetErrorName(cudaError_t error) {
  const char* name = nullptr;
  DRIVER(cuGetErrorName, static_cast<CUresult>(error), &name);
  return name != nullptr ? name : error == cudaSuccess ? "cudaSuccess" : "cudaErrorUnknown";
}
FAKE_EXPORT const char* cudaGetErrorString(cudaError_t error) {
  const char* text = nullptr;
  DRIVER(cuGetErrorString, static_cast<CUresult>(error), &text);
  return text != nullptr ? text : cudaGetErrorName(error);
}

FAKE_EXPORT cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function,
                                                         unsigned version, unsigned long long flags,
                                                         cudaDriverEntryPointQueryResult* status) {
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  const CUresult result = DRIVER(cuGetProcAddress, symbol, function, static_cast<int>(version),
                                 static_cast<cuuint64_t>(flags), &found);
  if (status != nullptr) *status = static_cast<cudaDriverEntryPointQueryResult>(found);
  return Error(result);
}
