// SPDX-License-Identifier: Apache-2.0

// One name per kernel, in the terminal, in reports and on the page: kernels of one name are told
// apart by the template arguments in which they differ.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_REPORT_KERNEL_NAMES_H_
#define XLATRACE_REPORT_KERNEL_NAMES_H_

#include <string>
#include <string_view>
#include <vector>

namespace xlatrace::report {

struct NamedKernel {
  std::string name;    // As recorded: "vectorized_elementwise_kernel".
  std::string symbol;  // Mangled or demangled; empty: not known.
};

// The names of `kernels`, which are all of a run, in their order: "vectorized_elementwise_kernel
// <MulFunctor<float>>" where several symbols have the name. Copies of one symbol keep one name.
// What nothing tells apart keeps its name.
std::vector<std::string> KernelNames(const std::vector<NamedKernel>& kernels);

// "a, b<c, d>, (e, f)" -> {"a", "b<c, d>", "(e, f)"}.
std::vector<std::string> TopLevelArguments(std::string_view list);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_KERNEL_NAMES_H_
