// SPDX-License-Identifier: Apache-2.0
// The fakes of cuBLAS, cuFFT and others put work on the device through these functions. Their
// kernels have the names and shapes of the libraries' kernels, and no code. They are launched
// through the runtime API, as in the libraries.
#ifndef XLATRACE_TESTS_FAKE_GPU_LIBRARIES_LIBRARY_KERNEL_H_
#define XLATRACE_TESTS_FAKE_GPU_LIBRARIES_LIBRARY_KERNEL_H_

#include <cuda_runtime_api.h>

#include <string>

namespace xlatrace::fake {

struct LibraryKernel {
  std::string name;  // symbol, mangled where the library's is
  unsigned registers = 32;
  unsigned static_shared_bytes = 0;
  dim3 grid = {1, 1, 1};
  dim3 block = {128, 1, 1};
  dim3 cluster = {1, 1, 1};
  size_t dynamic_shared_bytes = 0;
};

// Launches on the stream in the current context; captured if the stream is capturing. The fake
// driver must be loaded.
cudaError_t Launch(const LibraryKernel& kernel, cudaStream_t stream);

// Blocks of `per` needed for `count`, at least 1.
inline unsigned Blocks(long long count, long long per) {
  return count <= 0 ? 1U : static_cast<unsigned>((count + per - 1) / per);
}

}  // namespace xlatrace::fake

#endif  // XLATRACE_TESTS_FAKE_GPU_LIBRARIES_LIBRARY_KERNEL_H_
