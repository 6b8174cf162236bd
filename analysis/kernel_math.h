// SPDX-License-Identifier: Apache-2.0

// The units (tensor cores, vector units) of a library kernel, as far as its name identifies them.
//
// Names of cuBLAS, CUTLASS, cuDNN and hipBLASLt contain the units. "xmma" alone is ambiguous: such
// kernels run on tensor cores or, with "ffma", on the vector units. Thread-safety: pure.

#ifndef XLATRACE_ANALYSIS_KERNEL_MATH_H_
#define XLATRACE_ANALYSIS_KERNEL_MATH_H_

#include <cstdint>
#include <string_view>

namespace xlatrace::analysis {

enum class KernelMath : uint8_t { kUnknown, kTensorCores, kVectorUnits };

KernelMath MathOfKernel(std::string_view symbol);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_KERNEL_MATH_H_
