// SPDX-License-Identifier: Apache-2.0
// Inside of the fake libcudart.so.13: contexts, errors, kernels, and facts for CUPTI.
//
// The runtime is a layer over the driver: each function here ends in driver calls. CUPTI shows
// one RUNTIME record for a runtime call. The driver calls inside are silent and share its
// correlation id. The fake driver does that between enter and exit of its private table
// (fake_gpu.h).
#ifndef XLATRACE_TESTS_FAKE_GPU_LIBRARIES_CUDART_RUNTIME_H_
#define XLATRACE_TESTS_FAKE_GPU_LIBRARIES_CUDART_RUNTIME_H_

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tests/fake_gpu/fake_gpu.h"
#include "tests/fake_gpu/libraries/cudart/driver.h"

namespace xlatrace::fake {

// Remembers a failure for cudaGetLastError of this thread. The numbers of the two APIs are the
// same.
cudaError_t Error(CUresult result);
cudaError_t Error(cudaError_t error);

// The context of this thread; where it has none, the primary one of the device that cudaSetDevice
// chose (0 at first), made current.
CUresult EnsureContext(CUcontext* context);

// The device of this thread: of its current context, else the chosen one.
CUresult CurrentDevice(int* device);
cudaError_t ChooseDevice(int device);

// Announces one call of the runtime API, from construction to the end of its scope.
class Announced {
 public:
  // `id` is a CUPTI_RUNTIME_TRACE_CBID, `params` the call's parameter struct of
  // generated_cuda_runtime_api_meta.h; `symbol` the kernel's name at a launch, else nullptr.
  Announced(uint32_t id, const char* function, const void* params, const char* symbol = nullptr);
  ~Announced();
  Announced(const Announced&) = delete;
  Announced& operator=(const Announced&) = delete;

  cudaError_t Return(CUresult result) { return Return(static_cast<cudaError_t>(result)); }
  cudaError_t Return(cudaError_t error) { return error_ = Error(error); }

 private:
  FakeGpuCall call_ = {};
  cudaError_t error_ = cudaSuccess;
};

// The fake driver's private table; nullptr without a driver or with another one.
const FakeGpuTable* Gpu();

// Device code that the program handed over, loaded into a context when it is first needed there.
class Image {
 public:
  explicit Image(const void* data) : data_(data) {}
  // Keeps its own copy of the bytes: libraries may free theirs.
  explicit Image(std::vector<char> bytes) : bytes_(std::move(bytes)), data_(bytes_.data()) {}

  CUresult Module(CUcontext context, CUmodule* module);

 private:
  std::mutex mutex_;
  std::vector<char> bytes_;
  const void* data_;
  std::map<CUcontext, CUmodule> modules_;
};

// A kernel of an image. cudaKernel_t and the host symbol that nvcc registers both lead to one.
class Kernel {
 public:
  Kernel(Image* image, std::string name) : image_(image), name_(std::move(name)) {}
  // Code that the fake driver made up; works in every context.
  Kernel(CUkernel made_up, std::string name) : made_up_(made_up), name_(std::move(name)) {}

  const char* name() const { return name_.c_str(); }
  // In the current context.
  CUresult Function(CUfunction* function);

 private:
  Image* image_ = nullptr;
  CUkernel made_up_ = nullptr;
  std::string name_;
  std::mutex mutex_;
  std::map<CUcontext, CUfunction> functions_;
};

// By host symbol or cudaKernel_t; nullptr if it is not registered.
Kernel* FindKernel(const void* symbol);
// Makes its address, and `symbol` where it is given, lead to the kernel, which is never freed.
Kernel* AddKernel(const void* symbol, Kernel* kernel);

}  // namespace xlatrace::fake

// XLATRACE_RUNTIME_CALL(cudaFree, v3020, {pointer}) announces the call to the end of the scope.
#define XLATRACE_RUNTIME_CALL(function, version, ...)                                        \
  const function##_##version##_params call_params __VA_ARGS__;                               \
  xlatrace::fake::Announced call(CUPTI_RUNTIME_TRACE_CBID_##function##_##version, #function, \
                                 &call_params)

#endif  // XLATRACE_TESTS_FAKE_GPU_LIBRARIES_CUDART_RUNTIME_H_
