// SPDX-License-Identifier: Apache-2.0
// Stand-in for libcudnn.so.9: XLA makes a handle before it compiles anything. There is no
// convolution and no attention: a program that uses cuDNN gets a missing symbol from XLA's own
// stub.
#include <cuda_runtime_api.h>

#include "tests/fake_gpu/libraries/export.h"

namespace {
struct Handle {
  cudaStream_t stream = nullptr;
};
}  // namespace

FAKE_EXPORT size_t cudnnGetVersion() { return 91'200; }
FAKE_EXPORT size_t cudnnGetCudartVersion() { return CUDART_VERSION; }
FAKE_EXPORT int cudnnGetProperty(int which, int* value) {
  *value = which == 0 ? 9 : which == 1 ? 12 : 0;
  return 0;
}
FAKE_EXPORT const char* cudnnGetErrorString(int) { return "status of the cuDNN stand-in"; }
FAKE_EXPORT void cudnnGetLastErrorString(char* text, size_t room) {
  if (room > 0) text[0] = '\0';
}
FAKE_EXPORT int cudnnCreate(Handle** handle) {
  *handle = new Handle;
  return 0;
}
FAKE_EXPORT int cudnnDestroy(Handle* handle) {
  delete handle;
  return 0;
}
FAKE_EXPORT int cudnnSetStream(Handle* handle, cudaStream_t stream) {
  handle->stream = stream;
  return 0;
}
FAKE_EXPORT int cudnnGetStream(Handle* handle, cudaStream_t* stream) {
  *stream = handle->stream;
  return 0;
}
FAKE_EXPORT int cudnnGraphVersionCheck() { return 0; }
FAKE_EXPORT int cudnnOpsVersionCheck() { return 0; }
FAKE_EXPORT int cudnnAdvVersionCheck() { return 0; }
FAKE_EXPORT int cudnnCnnVersionCheck() { return 0; }
