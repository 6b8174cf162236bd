// SPDX-License-Identifier: Apache-2.0
// Calls of libcuda.so.1 by name, found at run time as NVIDIA's runtime does. So loading this
// library does not load a driver.
#ifndef XLATRACE_TESTS_FAKE_GPU_LIBRARIES_CUDART_DRIVER_H_
#define XLATRACE_TESTS_FAKE_GPU_LIBRARIES_CUDART_DRIVER_H_

#include <cuda.h>

namespace xlatrace::fake {

// A function of libcuda.so.1, nullptr where there is no driver or it has no such function.
// Thread-safe.
void* DriverSymbol(const char* name);

template <typename... Parameters, typename... Arguments>
CUresult CallDriver(void* symbol, CUresult (*)(Parameters...), Arguments... arguments) {
  if (symbol == nullptr) return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
  return reinterpret_cast<CUresult (*)(Parameters...)>(symbol)(arguments...);
}

}  // namespace xlatrace::fake

// DRIVER(cuMemAlloc, &pointer, bytes): the name goes through cuda.h's macros. So the current
// version of the function (cuMemAlloc_v2) is called, and the compiler checks its prototype.
#define XLATRACE_FAKE_NAME(function) #function
#define DRIVER(function, ...)                                                                     \
  ([&] {                                                                                          \
    static void* const xlatrace_symbol =                                                          \
        xlatrace::fake::DriverSymbol(XLATRACE_FAKE_NAME(function));                               \
    return xlatrace::fake::CallDriver(xlatrace_symbol, static_cast<decltype(&function)>(nullptr), \
                                      ##__VA_ARGS__);                                             \
  }())

#endif  // XLATRACE_TESTS_FAKE_GPU_LIBRARIES_CUDART_DRIVER_H_
