// SPDX-License-Identifier: Apache-2.0
#include "tests/fake_gpu/libraries/cudart/runtime.h"

#include <dlfcn.h>

#include <unordered_map>

namespace xlatrace::fake {
namespace {

thread_local cudaError_t last_error = cudaSuccess;
thread_local int chosen_device = 0;

// Never destroyed: kernels are launched from threads that outlive static destructors.
struct Kernels {
  std::mutex mutex;
  std::unordered_map<const void*, Kernel*> by_symbol;
};
Kernels& AllKernels() {
  static Kernels* const kernels = new Kernels;
  return *kernels;
}

}  // namespace

void* DriverSymbol(const char* name) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  return driver != nullptr ? dlsym(driver, name) : nullptr;
}

cudaError_t Error(cudaError_t error) {
  // 803 stands for "no driver" in CallDriver; the runtime's own word for that is 35.
  if (error == cudaErrorSystemDriverMismatch) error = cudaErrorInsufficientDriver;
  if (error != cudaSuccess && error != cudaErrorNotReady) last_error = error;
  return error;
}

cudaError_t Error(CUresult result) { return Error(static_cast<cudaError_t>(result)); }

CUresult EnsureContext(CUcontext* context) {
  static const CUresult initialised = DRIVER(cuInit, 0);
  if (initialised != CUDA_SUCCESS) return initialised;
  *context = nullptr;
  CUresult result = DRIVER(cuCtxGetCurrent, context);
  if (result != CUDA_SUCCESS || *context != nullptr) return result;
  result = DRIVER(cuDevicePrimaryCtxRetain, context, chosen_device);
  if (result != CUDA_SUCCESS) return result;
  return DRIVER(cuCtxSetCurrent, *context);
}

CUresult CurrentDevice(int* device) {
  CUcontext context = nullptr;
  CUdevice current = chosen_device;
  const CUresult result = DRIVER(cuCtxGetCurrent, &context);
  if (result == CUDA_SUCCESS && context != nullptr) DRIVER(cuCtxGetDevice, &current);
  *device = current;
  return result == CUDA_ERROR_NOT_INITIALIZED ? CUDA_SUCCESS : result;
}

cudaError_t ChooseDevice(int device) {
  CUcontext context = nullptr;
  chosen_device = device;
  CUresult result = DRIVER(cuInit, 0);
  if (result == CUDA_SUCCESS) result = DRIVER(cuDevicePrimaryCtxRetain, &context, device);
  if (result == CUDA_SUCCESS) result = DRIVER(cuCtxSetCurrent, context);
  return Error(result);
}

const FakeGpuTable* Gpu() {
  static const FakeGpuTable* const table = [] {
    const CUuuid id = FAKE_GPU_TABLE_ID;
    const void* found = nullptr;
    const CUresult result = DRIVER(cuGetExportTable, &found, &id);
    return result == CUDA_SUCCESS ? static_cast<const FakeGpuTable*>(found) : nullptr;
  }();
  return table;
}

Announced::Announced(uint32_t id, const char* function, const void* params, const char* symbol) {
  call_.domain = FAKE_GPU_RUNTIME;
  call_.cbid = id;
  call_.name = function;
  call_.params = params;
  call_.symbol = symbol;
  if (Gpu() != nullptr) Gpu()->enter(&call_);
}

Announced::~Announced() {
  if (Gpu() != nullptr) Gpu()->exit(&call_, error_);
}

CUresult Image::Module(CUcontext context, CUmodule* module) {
  const std::lock_guard<std::mutex> lock(mutex_);
  CUmodule& loaded = modules_[context];
  if (loaded == nullptr) {
    const CUresult result = bytes_.empty() ? DRIVER(cuModuleLoadFatBinary, &loaded, data_)
                                           : DRIVER(cuModuleLoadData, &loaded, data_);
    if (result != CUDA_SUCCESS) return result;
  }
  *module = loaded;
  return CUDA_SUCCESS;
}

CUresult Kernel::Function(CUfunction* function) {
  if (made_up_ != nullptr) {
    *function = reinterpret_cast<CUfunction>(made_up_);
    return CUDA_SUCCESS;
  }
  CUcontext context = nullptr;
  CUresult result = EnsureContext(&context);
  if (result != CUDA_SUCCESS) return result;
  const std::lock_guard<std::mutex> lock(mutex_);
  CUfunction& found = functions_[context];
  if (found == nullptr) {
    CUmodule module = nullptr;
    result = image_->Module(context, &module);
    if (result != CUDA_SUCCESS) return result;
    result = DRIVER(cuModuleGetFunction, &found, module, name_.c_str());
    if (result != CUDA_SUCCESS) return result;
  }
  *function = found;
  return CUDA_SUCCESS;
}

Kernel* FindKernel(const void* symbol) {
  Kernels& kernels = AllKernels();
  const std::lock_guard<std::mutex> lock(kernels.mutex);
  const auto found = kernels.by_symbol.find(symbol);
  return found == kernels.by_symbol.end() ? nullptr : found->second;
}

Kernel* AddKernel(const void* symbol, Kernel* kernel) {
  Kernels& kernels = AllKernels();
  const std::lock_guard<std::mutex> lock(kernels.mutex);
  if (symbol != nullptr) kernels.by_symbol[symbol] = kernel;
  kernels.by_symbol[kernel] = kernel;
  return kernel;
}

}  // namespace xlatrace::fake

using xlatrace::fake::last_error;

extern "C" {
__attribute__((visibility("default"))) cudaError_t cudaGetLastError() {
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}
__attribute__((visibility("default"))) cudaError_t cudaPeekAtLastError() { return last_error; }
}
