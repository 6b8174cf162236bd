// SPDX-License-Identifier: Apache-2.0
#include "tests/fake_gpu/libraries/library_kernel.h"

#include <map>
#include <mutex>

// From the fake runtime (cudart/kernel.cc).
extern "C" cudaKernel_t fakeCudartLibraryKernel(const char* name, unsigned registers,
                                                unsigned static_shared_bytes);

namespace xlatrace::fake {

cudaError_t Launch(const LibraryKernel& kernel, cudaStream_t stream) {
  static std::mutex* const mutex = new std::mutex;
  static auto* const kernels = new std::map<std::string, cudaKernel_t>;
  cudaKernel_t handle = nullptr;
  {
    const std::lock_guard<std::mutex> lock(*mutex);
    cudaKernel_t& known = (*kernels)[kernel.name];
    if (known == nullptr) {
      known = fakeCudartLibraryKernel(kernel.name.c_str(), kernel.registers,
                                      kernel.static_shared_bytes);
      // More than 48 KB needs an explicit request (CUDA programming guide, shared memory since
      // 7.x).
      if (known != nullptr && kernel.dynamic_shared_bytes > 48U * 1024) {
        const cudaError_t error =
            cudaFuncSetAttribute(known, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(kernel.dynamic_shared_bytes));
        if (error != cudaSuccess) return error;
      }
    }
    handle = known;
  }
  if (handle == nullptr) return cudaErrorInitializationError;

  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = kernel.cluster.x;
  cluster.val.clusterDim.y = kernel.cluster.y;
  cluster.val.clusterDim.z = kernel.cluster.z;
  const bool clustered = kernel.cluster.x * kernel.cluster.y * kernel.cluster.z > 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = kernel.grid;
  config.blockDim = kernel.block;
  config.dynamicSmemBytes = kernel.dynamic_shared_bytes;
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = clustered ? 1 : 0;
  return cudaLaunchKernelExC(&config, handle, nullptr);
}

}  // namespace xlatrace::fake
