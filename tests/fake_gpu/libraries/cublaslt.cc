// SPDX-License-Identifier: Apache-2.0
// Fake libcublasLt.so.13: descriptors that keep their values, a heuristic that always offers one
// algorithm, and products that become kernels. NVIDIA's header is not used; the numbers below are
// those of cublasLt.h.
#include <cuda_runtime_api.h>
#include <library_types.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "tests/fake_gpu/libraries/export.h"
#include "tests/fake_gpu/libraries/gemm_kernel.h"

namespace {

enum Status { kSuccess = 0, kInvalidValue = 7, kExecutionFailed = 13 };
enum LayoutAttribute { kType = 0, kRows = 2, kColumns = 3, kBatchCount = 5 };
enum MatmulAttribute { kComputeType = 0, kScaleType = 1, kTransposeA = 3, kTransposeB = 4 };

// Descriptor, layout or preference: attributes by number, as bytes.
struct Attributes {
  std::map<int, std::vector<char>> values;

  template <typename T>
  T Get(int attribute, T otherwise) const {
    const auto found = values.find(attribute);
    if (found == values.end() || found->second.size() != sizeof(T)) return otherwise;
    T value;
    std::memcpy(&value, found->second.data(), sizeof value);
    return value;
  }
  void Set(int attribute, const void* value, size_t bytes) {
    const char* const from = static_cast<const char*>(value);
    values[attribute].assign(from, from + bytes);
  }
};

int Read(const Attributes* attributes, int attribute, void* value, size_t bytes, size_t* written) {
  const auto found = attributes->values.find(attribute);
  const size_t known = found == attributes->values.end() ? 0 : found->second.size();
  if (value != nullptr) {
    // Never set: NVIDIA's default, which is 0 for all values that programs read.
    std::memset(value, 0, bytes);
    if (known != 0) std::memcpy(value, found->second.data(), known < bytes ? known : bytes);
  }
  if (written != nullptr) *written = known != 0 ? known : bytes;
  return kSuccess;
}

struct Algorithm {
  uint64_t data[8];
};
struct HeuristicResult {
  Algorithm algorithm;
  size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
};

}  // namespace

// 13.0: the version that jaxlib 0.10 was built for, as its version check requires.
FAKE_EXPORT size_t cublasLtGetVersion() { return 130'002; }
FAKE_EXPORT size_t cublasLtGetCudartVersion() { return CUDART_VERSION; }
FAKE_EXPORT int cublasLtGetProperty(int which, int* value) {
  *value = which == 0 ? 13 : which == 2 ? 2 : 0;
  return kSuccess;
}
FAKE_EXPORT const char* cublasLtGetStatusName(int) { return "CUBLAS_STATUS"; }
FAKE_EXPORT const char* cublasLtGetStatusString(int) { return "status of the cuBLASLt stand-in"; }

FAKE_EXPORT int cublasLtCreate(Attributes** handle) {
  *handle = new Attributes;
  return kSuccess;
}
FAKE_EXPORT int cublasLtDestroy(Attributes* handle) {
  delete handle;
  return kSuccess;
}

FAKE_EXPORT int cublasLtMatrixLayoutCreate(Attributes** layout, cudaDataType_t type, uint64_t rows,
                                           uint64_t columns, int64_t leading) {
  *layout = new Attributes;
  (*layout)->Set(kType, &type, sizeof type);
  (*layout)->Set(kRows, &rows, sizeof rows);
  (*layout)->Set(kColumns, &columns, sizeof columns);
  (*layout)->Set(4, &leading, sizeof leading);
  return kSuccess;
}
FAKE_EXPORT int cublasLtMatrixLayoutDestroy(Attributes* layout) {
  delete layout;
  return kSuccess;
}
FAKE_EXPORT int cublasLtMatrixLayoutSetAttribute(Attributes* layout, int attribute,
                                                 const void* value, size_t bytes) {
  layout->Set(attribute, value, bytes);
  return kSuccess;
}
FAKE_EXPORT int cublasLtMatrixLayoutGetAttribute(const Attributes* layout, int attribute,
                                                 void* value, size_t bytes, size_t* written) {
  return Read(layout, attribute, value, bytes, written);
}

FAKE_EXPORT int cublasLtMatmulDescCreate(Attributes** description, int compute_type,
                                         cudaDataType_t scale_type) {
  *description = new Attributes;
  (*description)->Set(kComputeType, &compute_type, sizeof compute_type);
  (*description)->Set(kScaleType, &scale_type, sizeof scale_type);
  return kSuccess;
}
FAKE_EXPORT int cublasLtMatmulDescDestroy(Attributes* description) {
  delete description;
  return kSuccess;
}
FAKE_EXPORT int cublasLtMatmulDescSetAttribute(Attributes* description, int attribute,
                                               const void* value, size_t bytes) {
  description->Set(attribute, value, bytes);
  return kSuccess;
}
FAKE_EXPORT int cublasLtMatmulDescGetAttribute(const Attributes* description, int attribute,
                                               void* value, size_t bytes, size_t* written) {
  return Read(description, attribute, value, bytes, written);
}

FAKE_EXPORT int cublasLtMatmulPreferenceCreate(Attributes** preference) {
  *preference = new Attributes;
  return kSuccess;
}
FAKE_EXPORT int cublasLtMatmulPreferenceDestroy(Attributes* preference) {
  delete preference;
  return kSuccess;
}
FAKE_EXPORT int cublasLtMatmulPreferenceSetAttribute(Attributes* preference, int attribute,
                                                     const void* value, size_t bytes) {
  preference->Set(attribute, value, bytes);
  return kSuccess;
}

FAKE_EXPORT int cublasLtMatmulAlgoGetHeuristic(Attributes*, Attributes*, Attributes*, Attributes*,
                                               Attributes*, Attributes*, Attributes*, int wanted,
                                               HeuristicResult* results, int* found) {
  *found = wanted > 0 ? 1 : 0;
  if (wanted <= 0) return kInvalidValue;
  results[0] = {};
  results[0].algorithm.data[0] = 66;  // any number: it comes back at the product
  results[0].waves = 1.0F;
  return kSuccess;
}

FAKE_EXPORT int cublasLtMatmul(Attributes*, Attributes* description, const void*, const void*,
                               Attributes* a, const void*, Attributes*, const void*, const void*,
                               Attributes*, void*, Attributes* d, const Algorithm*, void*, size_t,
                               cudaStream_t stream) {
  xlatrace::fake::GemmShape shape;
  shape.transpose_a = description->Get<int32_t>(kTransposeA, 0) != 0;
  shape.transpose_b = description->Get<int32_t>(kTransposeB, 0) != 0;
  shape.m = static_cast<long long>(d->Get<uint64_t>(kRows, 1));
  shape.n = static_cast<long long>(d->Get<uint64_t>(kColumns, 1));
  shape.k = static_cast<long long>(a->Get<uint64_t>(shape.transpose_a ? kRows : kColumns, 1));
  shape.batch = d->Get<int32_t>(kBatchCount, 1);
  shape.type = static_cast<cudaDataType_t>(a->Get<uint32_t>(kType, CUDA_R_32F));
  return xlatrace::fake::LaunchGemm(shape, stream) == cudaSuccess ? kSuccess : kExecutionFailed;
}
