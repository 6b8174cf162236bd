// SPDX-License-Identifier: Apache-2.0
// Fake libnvidia-ml.so.1: JAX and XLA query whether there is a driver, the device's place on the
// bus, and whether devices share a fabric (they do not).
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/fake_gpu/libraries/export.h"

namespace {
enum Return { kSuccess = 0, kInvalidArgument = 2, kNotSupported = 3 };

unsigned Devices() {
  const char* const text = std::getenv("FAKE_GPU_DEVICES");
  const int count = text != nullptr ? std::atoi(text) : 1;
  return count > 0 ? static_cast<unsigned>(count) : 1U;
}
}  // namespace

FAKE_EXPORT int nvmlInit_v2() { return kSuccess; }
FAKE_EXPORT int nvmlInitWithFlags(unsigned) { return kSuccess; }
FAKE_EXPORT int nvmlShutdown() { return kSuccess; }
FAKE_EXPORT const char* nvmlErrorString(int result) {
  return result == kSuccess ? "Success" : "not supported by the NVML stand-in";
}
FAKE_EXPORT int nvmlSystemGetDriverVersion(char* version, unsigned room) {
  std::snprintf(version, room, "580.65.06");
  return kSuccess;
}
FAKE_EXPORT int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = 13'000;
  return kSuccess;
}
FAKE_EXPORT int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = Devices();
  return kSuccess;
}
// A device's handle is its number plus 1, so that none is null.
FAKE_EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index >= Devices()) return kInvalidArgument;
  *device = reinterpret_cast<void*>(static_cast<size_t>(index) + 1);
  return kSuccess;
}
FAKE_EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char*, void** device) {
  return nvmlDeviceGetHandleByIndex_v2(0, device);
}
FAKE_EXPORT int nvmlDeviceGetCurrPcieLinkGeneration(void*, unsigned* generation) {
  *generation = 5;
  return kSuccess;
}
FAKE_EXPORT int nvmlDeviceGetCurrPcieLinkWidth(void*, unsigned* width) {
  *width = 16;
  return kSuccess;
}
FAKE_EXPORT int nvmlDeviceGetGpuFabricInfoV(void*, void*) { return kNotSupported; }
FAKE_EXPORT int nvmlDeviceGetNvLinkCapability(void*, unsigned, int, unsigned*) {
  return kNotSupported;
}
FAKE_EXPORT int nvmlDeviceGetNvLinkState(void*, unsigned, int*) { return kNotSupported; }
