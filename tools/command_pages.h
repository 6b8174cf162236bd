// SPDX-License-Identifier: Apache-2.0

// Man pages, and the reference page docs/reference/commands.md.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_TOOLS_COMMAND_PAGES_H_
#define XLATRACE_TOOLS_COMMAND_PAGES_H_

#include <string>

#include "tools/command_data.h"

namespace xlatrace::tools {

// The man page of one command, in section 1. `version` is the version of the program.
std::string ManPage(const CommandData& command, const std::string& version);
// The man page of the program, which lists all commands.
std::string ManPage(const ProgramData& data, const std::string& version);
// All commands on one page of Markdown.
std::string MarkdownPage(const ProgramData& data);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_COMMAND_PAGES_H_
