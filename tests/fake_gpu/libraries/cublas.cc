// SPDX-License-Identifier: Apache-2.0
// Fake libcublas.so.13: a handle, its stream and modes, matrix products and triangular
// solves.
#include <cuda_runtime_api.h>
#include <library_types.h>

#include "tests/fake_gpu/libraries/export.h"
#include "tests/fake_gpu/libraries/gemm_kernel.h"
#include "tests/fake_gpu/libraries/library_kernel.h"

namespace {

enum Status { kSuccess = 0, kExecutionFailed = 13 };

struct Handle {
  cudaStream_t stream = nullptr;
  int math_mode = 0;
  int pointer_mode = 0;
};

int Gemm(const Handle* handle, int transpose_a, int transpose_b, int m, int n, int k, int batch,
         cudaDataType_t type) {
  xlatrace::fake::GemmShape shape;
  shape.m = m;
  shape.n = n;
  shape.k = k;
  shape.batch = batch;
  shape.type = type;
  shape.transpose_a = transpose_a != 0;
  shape.transpose_b = transpose_b != 0;
  return LaunchGemm(shape, handle->stream) == cudaSuccess ? kSuccess : kExecutionFailed;
}

int Solve(const Handle* handle, char type, int m, int n, int batch) {
  xlatrace::fake::LibraryKernel kernel;
  const std::string element(1, type);
  kernel.name = "_Z30trsm_left_kernel_" + element + "_32_lower_unitiiPKvS0_iPvi";
  kernel.registers = 80;
  kernel.grid = {xlatrace::fake::Blocks(n, 32), static_cast<unsigned>(batch), 1};
  kernel.block = {static_cast<unsigned>(m >= 32 ? 128 : 32), 1, 1};
  return Launch(kernel, handle->stream) == cudaSuccess ? kSuccess : kExecutionFailed;
}

int Scale(const Handle* handle, char type, int n) {
  xlatrace::fake::LibraryKernel kernel;
  const std::string element(1, type);
  kernel.name = "_Z11scal_kernelI" + element + element + "Li1ELb1ELi5ELi4ELi4EEviT0_PS0_i";
  kernel.registers = 24;
  kernel.grid = {xlatrace::fake::Blocks(n, 2048), 1, 1};
  kernel.block = {512, 1, 1};
  return Launch(kernel, handle->stream) == cudaSuccess ? kSuccess : kExecutionFailed;
}

}  // namespace

FAKE_EXPORT int cublasCreate_v2(Handle** handle) {
  *handle = new Handle;
  return kSuccess;
}
FAKE_EXPORT int cublasDestroy_v2(Handle* handle) {
  delete handle;
  return kSuccess;
}
FAKE_EXPORT int cublasGetVersion_v2(Handle*, int* version) {
#ifdef FAKE_CUDA_12
  *version = 120'503;
#else
  *version = 130'002;
#endif
  return kSuccess;
}
FAKE_EXPORT int cublasGetProperty(int which, int* value) {
#ifdef FAKE_CUDA_12
  *value = which == 0 ? 12 : which == 1 ? 5 : 3;
#else
  *value = which == 0 ? 13 : which == 2 ? 2 : 0;
#endif
  return kSuccess;
}
FAKE_EXPORT const char* cublasGetStatusString(int) { return "status of the cuBLAS stand-in"; }
FAKE_EXPORT const char* cublasGetStatusName(int) { return "CUBLAS_STATUS"; }
FAKE_EXPORT int cublasSetStream_v2(Handle* handle, cudaStream_t stream) {
  handle->stream = stream;
  return kSuccess;
}
FAKE_EXPORT int cublasGetStream_v2(Handle* handle, cudaStream_t* stream) {
  *stream = handle->stream;
  return kSuccess;
}
FAKE_EXPORT int cublasSetWorkspace_v2(Handle*, void*, size_t) { return kSuccess; }
FAKE_EXPORT int cublasSetMathMode(Handle* handle, int mode) {
  handle->math_mode = mode;
  return kSuccess;
}
FAKE_EXPORT int cublasGetMathMode(Handle* handle, int* mode) {
  *mode = handle->math_mode;
  return kSuccess;
}
FAKE_EXPORT int cublasSetPointerMode_v2(Handle* handle, int mode) {
  handle->pointer_mode = mode;
  return kSuccess;
}
FAKE_EXPORT int cublasGetPointerMode_v2(Handle* handle, int* mode) {
  *mode = handle->pointer_mode;
  return kSuccess;
}

FAKE_EXPORT int cublasSetAtomicsMode(Handle*, int) { return kSuccess; }
FAKE_EXPORT int cublasGetAtomicsMode(Handle*, int* mode) {
  *mode = 0;
  return kSuccess;
}

// TensorFlow's own MatMul calls these.
#define GEMM(letter, type)                                                                         \
  FAKE_EXPORT int cublas##letter##gemm_v2(Handle* handle, int transpose_a, int transpose_b, int m, \
                                          int n, int k, const void*, const void*, int,             \
                                          const void*, int, const void*, void*, int) {             \
    return Gemm(handle, transpose_a, transpose_b, m, n, k, 1, type);                               \
  }                                                                                                \
  FAKE_EXPORT int cublas##letter##gemmStridedBatched(                                              \
      Handle* handle, int transpose_a, int transpose_b, int m, int n, int k, const void*,          \
      const void*, int, long long, const void*, int, long long, const void*, void*, int,           \
      long long, int batch) {                                                                      \
    return Gemm(handle, transpose_a, transpose_b, m, n, k, batch, type);                           \
  }
GEMM(S, CUDA_R_32F)
GEMM(D, CUDA_R_64F)
#undef GEMM
FAKE_EXPORT int cublasHgemm(Handle* handle, int transpose_a, int transpose_b, int m, int n, int k,
                            const void*, const void*, int, const void*, int, const void*, void*,
                            int) {
  return Gemm(handle, transpose_a, transpose_b, m, n, k, 1, CUDA_R_16F);
}
FAKE_EXPORT int cublasSgemv_v2(Handle* handle, int transpose, int m, int n, const void*,
                               const void*, int, const void*, int, const void*, void*, int) {
  return Gemm(handle, transpose, 0, m, 1, n, 1, CUDA_R_32F);
}
FAKE_EXPORT int cublasSgemmEx(Handle* handle, int transpose_a, int transpose_b, int m, int n, int k,
                              const void*, const void*, cudaDataType_t type, int, const void*,
                              cudaDataType_t, int, const void*, void*, cudaDataType_t, int) {
  return Gemm(handle, transpose_a, transpose_b, m, n, k, 1, type);
}

FAKE_EXPORT int cublasGemmEx(Handle* handle, int transpose_a, int transpose_b, int m, int n, int k,
                             const void*, const void*, cudaDataType_t type, int, const void*,
                             cudaDataType_t, int, const void*, void*, cudaDataType_t, int, int,
                             int) {
  return Gemm(handle, transpose_a, transpose_b, m, n, k, 1, type);
}
FAKE_EXPORT int cublasGemmStridedBatchedEx(Handle* handle, int transpose_a, int transpose_b, int m,
                                           int n, int k, const void*, const void*,
                                           cudaDataType_t type, int, long long, const void*,
                                           cudaDataType_t, int, long long, const void*, void*,
                                           cudaDataType_t, int, long long, int batch, int, int) {
  return Gemm(handle, transpose_a, transpose_b, m, n, k, batch, type);
}
FAKE_EXPORT int cublasGemmBatchedEx(Handle* handle, int transpose_a, int transpose_b, int m, int n,
                                    int k, const void*, const void* const*, cudaDataType_t type,
                                    int, const void* const*, cudaDataType_t, int, const void*,
                                    void* const*, cudaDataType_t, int, int batch, int, int) {
  return Gemm(handle, transpose_a, transpose_b, m, n, k, batch, type);
}

#define TRIANGULAR_SOLVE(letter, small)                                                           \
  FAKE_EXPORT int cublas##letter##trsm_v2(Handle* handle, int, int, int, int, int m, int n,       \
                                          const void*, const void*, int, void*, int) {            \
    return Solve(handle, small, m, n, 1);                                                         \
  }                                                                                               \
  FAKE_EXPORT int cublas##letter##trsmBatched(Handle* handle, int, int, int, int, int m, int n,   \
                                              const void*, const void* const*, int, void* const*, \
                                              int, int batch) {                                   \
    return Solve(handle, small, m, n, batch);                                                     \
  }
TRIANGULAR_SOLVE(S, 'f')
TRIANGULAR_SOLVE(D, 'd')
TRIANGULAR_SOLVE(C, 'c')
TRIANGULAR_SOLVE(Z, 'z')

// XLA scales the result of an inverse transform with these.
#define SCALE(letters, small)                                                                \
  FAKE_EXPORT int cublas##letters##scal_v2(Handle* handle, int n, const void*, void*, int) { \
    return Scale(handle, small, n);                                                          \
  }
SCALE(S, 'f')
SCALE(D, 'd')
SCALE(C, 'c')
SCALE(Z, 'z')
SCALE(Cs, 'c')
SCALE(Zd, 'z')
