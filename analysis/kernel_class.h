// SPDX-License-Identifier: Apache-2.0

// Kind of work of a kernel, from its name alone, for kernels without an HLO instruction.
//
// Library names are from recordings of 2021 to 2026 (NVIDIA's and AMD's libraries, PyTorch, vLLM,
// TensorRT-LLM). An unknown name gives `other`. Times are not used. Thread-safety: pure functions.

#ifndef XLATRACE_ANALYSIS_KERNEL_CLASS_H_
#define XLATRACE_ANALYSIS_KERNEL_CLASS_H_

#include <cstdint>
#include <string>
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

// A product or convolution in f32 on CUDA cores, not on tensor cores.
bool IsCudaCoreProduct(std::string_view name);

// The function of a demangled kernel without namespaces and template arguments, at most 40 columns:
// "cunn_SoftMaxForward".
std::string ShortKernelName(std::string_view name);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_KERNEL_CLASS_H_
