// SPDX-License-Identifier: Apache-2.0

// The HLO of a module as text: `xlatrace modules PATH MODULE --format text`.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_TOOLS_MODULE_TEXT_H_
#define XLATRACE_TOOLS_MODULE_TEXT_H_

#include <cstddef>
#include <string>

#include "base/error.h"
#include "tools/module_list.h"

namespace xlatrace::tools {

// Text that was recorded or dumped as text is returned unchanged; a proto is printed
// (hlo/text/text_printer.h). Ends with a newline. `index`: into the list's modules.
Result<std::string> ModuleText(const ModuleList& list, size_t index);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_MODULE_TEXT_H_
