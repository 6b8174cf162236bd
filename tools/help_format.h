// SPDX-License-Identifier: Apache-2.0

// Formats `--help` of a CLI11 command for the terminal's width, without names of C++ types.
// Thread-safety: one thread.

#ifndef XLATRACE_TOOLS_HELP_FORMAT_H_
#define XLATRACE_TOOLS_HELP_FORMAT_H_

#include <memory>

namespace CLI {
class FormatterBase;
}

namespace xlatrace::tools {

// Set it as CLI::App::formatter before subcommands are added, because they inherit it.
std::shared_ptr<CLI::FormatterBase> MakeHelpFormatter();

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_HELP_FORMAT_H_
