// SPDX-License-Identifier: Apache-2.0

// Runs the levels of matching (comparison.h) one after the other.
//
// Thread-safety: pure.

#ifndef XLATRACE_COMPARE_ROW_BUILDER_H_
#define XLATRACE_COMPARE_ROW_BUILDER_H_

#include <vector>

#include "compare/comparison.h"
#include "compare/module_pairs.h"

namespace xlatrace::compare {

// Rows without causes; every op of both sides is in exactly one row.
std::vector<Row> BuildRows(const Run& base, const Run& now, const std::vector<ModulePair>& pairs);

// A kernel's name without numbers: "gemm_bf16_128x64_nn" is unchanged, "fusion_12" becomes
// "fusion". Template arguments and parameters of a C++ name are removed, except for CUTLASS's
// "Kernel2<NAME>", whose argument is the kernel.
std::string KernelFamily(std::string_view name);

}  // namespace xlatrace::compare

#endif  // XLATRACE_COMPARE_ROW_BUILDER_H_
