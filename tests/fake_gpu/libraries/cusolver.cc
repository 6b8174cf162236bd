// SPDX-License-Identifier: Apache-2.0
// Fake libcusolver.so.12: Cholesky, LU and QR of dense matrices, as JAX calls them.
#include <cuda_runtime_api.h>

#include "tests/fake_gpu/libraries/export.h"
#include "tests/fake_gpu/libraries/library_kernel.h"

namespace {

enum Status { kSuccess = 0, kExecutionFailed = 6 };

struct Handle {
  cudaStream_t stream = nullptr;
};

int Run(const Handle* handle, const std::string& name, unsigned blocks, unsigned threads) {
  xlatrace::fake::LibraryKernel kernel;
  kernel.name = name;
  kernel.registers = 56;
  kernel.grid = {blocks, 1, 1};
  kernel.block = {threads, 1, 1};
  return Launch(kernel, handle->stream) == cudaSuccess ? kSuccess : kExecutionFailed;
}

// cuSOLVER resets the info word, works panel by panel, and sets the info word: several kernels.
int Factorise(const Handle* handle, const std::string& routine, char type, int n, int batch) {
  const auto symbol = [](const std::string& name, const std::string& rest) {
    return "_Z" + std::to_string(name.size()) + name + rest;
  };
  const std::string element(1, type);
  int result = Run(handle, symbol(routine + "_reset_info", "Pi"), 1, 1);
  for (int panel = 0; panel < n && result == kSuccess; panel += 64) {
    result =
        Run(handle, symbol(routine + "_cta_lower", "I" + element + element + "Li5EEviiPT_iPii"),
            static_cast<unsigned>(batch), 256);
  }
  return result != kSuccess ? result : Run(handle, symbol(routine + "_set_info", "iiPi"), 1, 1);
}

}  // namespace

FAKE_EXPORT int cusolverGetVersion(int* version) {
  *version = 12'000;
  return kSuccess;
}
FAKE_EXPORT int cusolverGetProperty(int which, int* value) {
  *value = which == 0 ? 12 : 0;
  return kSuccess;
}
FAKE_EXPORT int cusolverDnCreate(Handle** handle) {
  *handle = new Handle;
  return kSuccess;
}
FAKE_EXPORT int cusolverDnDestroy(Handle* handle) {
  delete handle;
  return kSuccess;
}
FAKE_EXPORT int cusolverDnSetStream(Handle* handle, cudaStream_t stream) {
  handle->stream = stream;
  return kSuccess;
}
FAKE_EXPORT int cusolverDnGetStream(Handle* handle, cudaStream_t* stream) {
  *stream = handle->stream;
  return kSuccess;
}
FAKE_EXPORT int cusolverSpCreate(Handle** handle) { return cusolverDnCreate(handle); }
FAKE_EXPORT int cusolverSpDestroy(Handle* handle) { return cusolverDnDestroy(handle); }
FAKE_EXPORT int cusolverSpSetStream(Handle* handle, cudaStream_t stream) {
  return cusolverDnSetStream(handle, stream);
}

#define FACTORISATIONS(letter, small, generate)                                                    \
  FAKE_EXPORT int cusolverDn##letter##potrf_bufferSize(Handle*, int, int n, void*, int,            \
                                                       int* words) {                               \
    *words = n * 4;                                                                                \
    return kSuccess;                                                                               \
  }                                                                                                \
  FAKE_EXPORT int cusolverDn##letter##potrf(Handle* handle, int, int n, void*, int, void*, int,    \
                                            int*) {                                                \
    return Factorise(handle, "potrf_alg2", small, n, 1);                                           \
  }                                                                                                \
  FAKE_EXPORT int cusolverDn##letter##potrfBatched(Handle* handle, int, int n, void**, int, int*,  \
                                                   int batch) {                                    \
    return Factorise(handle, "potrf_batched", small, n, batch);                                    \
  }                                                                                                \
  FAKE_EXPORT int cusolverDn##letter##getrf_bufferSize(Handle*, int m, int, void*, int,            \
                                                       int* words) {                               \
    *words = m * 4;                                                                                \
    return kSuccess;                                                                               \
  }                                                                                                \
  FAKE_EXPORT int cusolverDn##letter##getrf(Handle* handle, int, int n, void*, int, void*, int*,   \
                                            int*) {                                                \
    return Factorise(handle, "getrf_pivot", small, n, 1);                                          \
  }                                                                                                \
  FAKE_EXPORT int cusolverDn##letter##geqrf_bufferSize(Handle*, int m, int, void*, int,            \
                                                       int* words) {                               \
    *words = m * 4;                                                                                \
    return kSuccess;                                                                               \
  }                                                                                                \
  FAKE_EXPORT int cusolverDn##letter##geqrf(Handle* handle, int, int n, void*, int, void*, void*,  \
                                            int, int*) {                                           \
    return Factorise(handle, "geqrf_panel", small, n, 1);                                          \
  }                                                                                                \
  FAKE_EXPORT int cusolverDn##letter##generate##_bufferSize(Handle*, int m, int, int, const void*, \
                                                            int, const void*, int* words) {        \
    *words = m * 4;                                                                                \
    return kSuccess;                                                                               \
  }                                                                                                \
  FAKE_EXPORT int cusolverDn##letter##generate(Handle* handle, int, int n, int, void*, int,        \
                                               const void*, void*, int, int*) {                    \
    return Factorise(handle, "orgqr_panel", small, n, 1);                                          \
  }
FACTORISATIONS(S, 'f', orgqr)
FACTORISATIONS(D, 'd', orgqr)
FACTORISATIONS(C, 'c', ungqr)
FACTORISATIONS(Z, 'z', ungqr)
