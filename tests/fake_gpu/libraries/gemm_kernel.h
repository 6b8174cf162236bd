// SPDX-License-Identifier: Apache-2.0
// The kernels of a matrix product: one of the names of cuBLAS 13 on Hopper, tile by size. A product
// split along k has a second kernel that sums up the parts.
#ifndef XLATRACE_TESTS_FAKE_GPU_LIBRARIES_GEMM_KERNEL_H_
#define XLATRACE_TESTS_FAKE_GPU_LIBRARIES_GEMM_KERNEL_H_

#include <cuda_runtime_api.h>
#include <library_types.h>

namespace xlatrace::fake {

struct GemmShape {
  long long m = 0, n = 0, k = 0, batch = 1;
  cudaDataType_t type = CUDA_R_32F;
  bool transpose_a = false, transpose_b = false;
};

cudaError_t LaunchGemm(const GemmShape& shape, cudaStream_t stream);

}  // namespace xlatrace::fake

#endif  // XLATRACE_TESTS_FAKE_GPU_LIBRARIES_GEMM_KERNEL_H_
