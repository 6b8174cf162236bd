// SPDX-License-Identifier: Apache-2.0
// Fake libcusparse.so.12: present, with a version that JAX accepts.
#include "tests/fake_gpu/libraries/export.h"

FAKE_EXPORT int cusparseCreate(void** handle) {
  *handle = new int;
  return 0;
}
FAKE_EXPORT int cusparseDestroy(void* handle) {
  delete static_cast<int*>(handle);
  return 0;
}
FAKE_EXPORT int cusparseGetVersion(void*, int* version) {
  *version = 12'600;
  return 0;
}
FAKE_EXPORT int cusparseGetProperty(int which, int* value) {
  *value = which == 0 ? 12 : which == 1 ? 6 : 0;
  return 0;
}
FAKE_EXPORT int cusparseSetStream(void*, void*) { return 0; }
FAKE_EXPORT const char* cusparseGetErrorString(int) { return "status of the cuSPARSE stand-in"; }
