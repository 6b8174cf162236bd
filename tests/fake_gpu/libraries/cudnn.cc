// SPDX-License-Identifier: Apache-2.0
// Fake libcudnn.so.9: handles, and TensorFlow's calls outside of the backend interface
// (cudnn_backend.cc): tensors, pooling, batch normalisation. There is no attention and no RNN: a
// program that uses them gets a missing symbol from XLA's own stub.
#include <cuda_runtime_api.h>

#include <cstdlib>

#include "tests/fake_gpu/libraries/cudnn_handle.h"
#include "tests/fake_gpu/libraries/export.h"
#include "tests/fake_gpu/libraries/library_kernel.h"

namespace {

using Handle = xlatrace::fake::CudnnHandle;

// Descriptors keep nothing: no kernel looks at what it works on.
struct Anything {};

int Run(Handle* handle, const char* symbol) {
  const xlatrace::fake::LibraryKernel kernel = {
      .name = symbol, .registers = 40, .grid = {64, 1, 1}, .block = {256, 1, 1}};
  return Launch(kernel, handle->stream) == cudaSuccess ? 0 : 5000;
}

}  // namespace

// FAKE_CUDNN_VERSION: cuDNN 8 counts 8907 for 8.9.7.
FAKE_EXPORT size_t cudnnGetVersion() {
  static const size_t version = [] {
    const char* const asked = std::getenv("FAKE_CUDNN_VERSION");
    return asked != nullptr ? static_cast<size_t>(std::strtoul(asked, nullptr, 10)) : 91'200;
  }();
  return version;
}
FAKE_EXPORT size_t cudnnGetCudartVersion() { return CUDART_VERSION; }
FAKE_EXPORT int cudnnGetProperty(int which, int* value) {
  const auto version = static_cast<int>(cudnnGetVersion());
  const int major = version >= 90'000 ? 10'000 : 1'000;
  *value = which == 0 ? version / major : which == 1 ? version % major / 100 : version % 100;
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

#define FAKE_DESCRIPTOR(name)                                \
  FAKE_EXPORT int cudnnCreate##name(Anything** descriptor) { \
    *descriptor = new Anything;                              \
    return 0;                                                \
  }                                                          \
  FAKE_EXPORT int cudnnDestroy##name(Anything* descriptor) { \
    delete descriptor;                                       \
    return 0;                                                \
  }
FAKE_DESCRIPTOR(TensorDescriptor)
FAKE_DESCRIPTOR(FilterDescriptor)
FAKE_DESCRIPTOR(ConvolutionDescriptor)
FAKE_DESCRIPTOR(PoolingDescriptor)
FAKE_DESCRIPTOR(ActivationDescriptor)
#undef FAKE_DESCRIPTOR

FAKE_EXPORT int cudnnSetTensorNdDescriptor(Anything*, int, int, const int*, const int*) {
  return 0;
}
FAKE_EXPORT int cudnnSetTensor4dDescriptor(Anything*, int, int, int, int, int, int) { return 0; }
FAKE_EXPORT int cudnnSetPoolingNdDescriptor(Anything*, int, int, int, const int*, const int*,
                                            const int*) {
  return 0;
}
FAKE_EXPORT int cudnnSetActivationDescriptor(Anything*, int, int, double) { return 0; }

FAKE_EXPORT int cudnnPoolingForward(Handle* handle, Anything*, const void*, Anything*, const void*,
                                    const void*, Anything*, void*) {
  return Run(handle,
             "_ZN5cudnn22pooling_fw_4d_kernelIffNS_15maxpooling_funcIfL21cudnnNanPropagation_t1EEEL"
             "i0ELb0EEEv17cudnnTensorStructPKT_S4_PS5_18cudnnPoolingStructT0_S9_iNS_15reduced_"
             "divisorESA_");
}
FAKE_EXPORT int cudnnPoolingBackward(Handle* handle, Anything*, const void*, Anything*, const void*,
                                     Anything*, const void*, Anything*, const void*, const void*,
                                     Anything*, void*) {
  return Run(handle,
             "_ZN5cudnn22pooling_bw_kernel_max_nchwIffEEv17cudnnTensorStructPKT_S1_S4_S1_S4_S1_PS2_"
             "18cudnnPoolingStructT0_S7_NS_15reduced_divisorES8_");
}

FAKE_EXPORT int cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(Handle*, int, int,
                                                                         Anything*, Anything*,
                                                                         Anything*, Anything*,
                                                                         Anything*, size_t* bytes) {
  *bytes = 0;
  return 0;
}
FAKE_EXPORT int cudnnGetBatchNormalizationTrainingExReserveSpaceSize(Handle*, int, int, Anything*,
                                                                     Anything*, size_t* bytes) {
  *bytes = 0;
  return 0;
}
FAKE_EXPORT int cudnnGetBatchNormalizationBackwardExWorkspaceSize(Handle*, int, int, Anything*,
                                                                  Anything*, Anything*, Anything*,
                                                                  Anything*, Anything*, Anything*,
                                                                  size_t* bytes) {
  *bytes = 0;
  return 0;
}
// The arguments behind the handle mean nothing here; the caller cleans up what it passed.
FAKE_EXPORT int cudnnBatchNormalizationForwardTrainingEx(Handle* handle) {
  return Run(
      handle,
      "_ZN5cudnn21bn_fw_tr_1C11_kernel_NCHWIffLi512ELb1ELi1EEEv17cudnnTensorStructPKT_S1_PS2_"
      "PKT0_S9_S7_S7_PS7_SA_SA_SA_S7_S7_");
}
FAKE_EXPORT int cudnnBatchNormalizationForwardTraining(Handle* handle) {
  return cudnnBatchNormalizationForwardTrainingEx(handle);
}
FAKE_EXPORT int cudnnBatchNormalizationForwardInference(Handle* handle) {
  return Run(handle,
             "_ZN5cudnn20bn_fw_inf_1C11_kernel_NCHWIffLb1ELi1EEEvT0_S1_NS_15reduced_divisorES2_17"
             "cudnnTensorStructPKT_S3_PS4_PKS1_S9_S9_S9_S1_");
}
FAKE_EXPORT int cudnnBatchNormalizationBackwardEx(Handle* handle) {
  return Run(
      handle,
      "_ZN5cudnn17bn_bw_1C11_kernelIffLi512ELb1ELi1EEEvT0_S1_S1_S1_17cudnnTensorStructPKT_S2_"
      "S5_S2_PS3_PKS1_PS1_S9_S8_S8_S1_");
}
FAKE_EXPORT int cudnnBatchNormalizationBackward(Handle* handle) {
  return cudnnBatchNormalizationBackwardEx(handle);
}
