// SPDX-License-Identifier: Apache-2.0
// The object behind a cudnnHandle_t of the fake library.
#ifndef XLATRACE_TESTS_FAKE_GPU_LIBRARIES_CUDNN_HANDLE_H_
#define XLATRACE_TESTS_FAKE_GPU_LIBRARIES_CUDNN_HANDLE_H_

#include <cuda_runtime_api.h>

namespace xlatrace::fake {

struct CudnnHandle {
  cudaStream_t stream = nullptr;
};

}  // namespace xlatrace::fake

#endif  // XLATRACE_TESTS_FAKE_GPU_LIBRARIES_CUDNN_HANDLE_H_
