// SPDX-License-Identifier: Apache-2.0

// What kind of work a kernel does, by its name alone: for kernels that no HLO names.
//
// Names of libraries are those that recordings of 2021-2026 hold (NVIDIA's and AMD's libraries,
// PyTorch, vLLM, TensorRT-LLM). A name that fits nothing is `other`; nothing is guessed from times.
// Thread-safety: pure functions.

#ifndef XLATRACE_ANALYSIS_KERNEL_CLASS_H_
#define XLATRACE_ANALYSIS_KERNEL_CLASS_H_

#include <cstdint>
#include <string_view>

namespace xlatrace::analysis {

enum class KernelClass : uint8_t {
  kProduct,
  kAttention,
  kConvolution,
  kCollective,
  kNorm,
  kElementwise,
  kEmbedding,
  kSort,
  kOther,
};
inline constexpr size_t kKernelClassCount = 9;

// "matrix products", in the plural.
std::string_view Text(KernelClass kernel_class);

KernelClass KernelClassOf(std::string_view name);

// A product or convolution in f32 on CUDA cores: no tensor core does it.
bool IsCudaCoreProduct(std::string_view name);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_KERNEL_CLASS_H_
