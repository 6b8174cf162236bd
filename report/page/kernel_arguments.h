// SPDX-License-Identifier: Apache-2.0

// The template arguments in which the symbols of equally named kernels differ.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_REPORT_PAGE_KERNEL_ARGUMENTS_H_
#define XLATRACE_REPORT_PAGE_KERNEL_ARGUMENTS_H_

#include <string>
#include <string_view>

namespace xlatrace::report {

// Returns the template arguments: "Kernel2<tile_64x64, true>(Params)" gives "tile_64x64, true".
// Accepts mangled symbols. Empty if the kernel is no template. The result has at most 2,000 bytes;
// longer lists are cut at their end.
std::string TemplateArguments(std::string_view symbol);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_PAGE_KERNEL_ARGUMENTS_H_
