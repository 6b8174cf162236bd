// SPDX-License-Identifier: Apache-2.0

// Gives each kernel one name for the terminal, reports and the page. Kernels with equal names get
// the template arguments in which they differ.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_REPORT_KERNEL_NAMES_H_
#define XLATRACE_REPORT_KERNEL_NAMES_H_

#include <string>
#include <string_view>
#include <vector>

namespace xlatrace::report {

struct NamedKernel {
  std::string_view name;    // As recorded: "vectorized_elementwise_kernel".
  std::string_view symbol;  // Mangled or demangled; empty: not known.
};

// Returns the names of `kernels` (all kernels of a run) in their order, for example
// "vectorized_elementwise_kernel <MulFunctor<float>>" if several symbols share a name. Equal
// symbols get equal names. Kernels with equal arguments keep the short name.
std::vector<std::string> KernelNames(const std::vector<NamedKernel>& kernels);

// "a, b<c, d>, (e, f)" -> {"a", "b<c, d>", "(e, f)"}.
std::vector<std::string> TopLevelArguments(std::string_view list);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_KERNEL_NAMES_H_
