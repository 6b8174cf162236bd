// SPDX-License-Identifier: Apache-2.0

// Completion of the program's command line in bash, zsh and fish, as a script for each shell.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_TOOLS_COMPLETION_SCRIPT_H_
#define XLATRACE_TOOLS_COMPLETION_SCRIPT_H_

#include <string>

#include "tools/command_data.h"

namespace xlatrace::tools {

// Needs bash 4.1 and no package "bash-completion".
std::string BashCompletion(const ProgramData& data);
// Works from a folder of $fpath and with `source`.
std::string ZshCompletion(const ProgramData& data);
std::string FishCompletion(const ProgramData& data);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_COMPLETION_SCRIPT_H_
