// SPDX-License-Identifier: Apache-2.0

// How `xlatrace modules` shows a list of modules: table, card of one module, JSON.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_TOOLS_MODULE_LIST_OUTPUT_H_
#define XLATRACE_TOOLS_MODULE_LIST_OUTPUT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "base/terminal.h"
#include "tools/module_list.h"

namespace xlatrace::tools {

// The verdict, the table, the main module's card, and possible data flow between modules. Without
// `all`, long lists are cut, and the text states that.
std::string ModuleListText(const ModuleList& list, bool all, const Terminal& terminal);

// Everything about some modules.
std::string ModuleCards(const ModuleList& list, const std::vector<size_t>& which, bool all,
                        const Terminal& terminal);

// `which`: indices of the modules to print.
std::string ModuleListJson(const ModuleList& list, const std::vector<size_t>& which);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_MODULE_LIST_OUTPUT_H_
