// SPDX-License-Identifier: Apache-2.0

// The comparison of two dumps of a module, as text and JSON; the JSON of all of `xlatrace passes`.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_TOOLS_PASSES_COMPARISON_H_
#define XLATRACE_TOOLS_PASSES_COMPARISON_H_

#include <string>

#include "tools/passes_output.h"

namespace xlatrace::tools {

std::string ComparisonText(const PassesView& view, bool all, int width);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_PASSES_COMPARISON_H_
