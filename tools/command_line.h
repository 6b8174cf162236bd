// SPDX-License-Identifier: Apache-2.0

// Parses the command line of `xlatrace` and runs the subcommand. An unknown command is an error
// with a suggestion.

#ifndef XLATRACE_TOOLS_COMMAND_LINE_H_
#define XLATRACE_TOOLS_COMMAND_LINE_H_

namespace xlatrace::tools {

// Reads `argv`, runs the command and prints its error. Returns the exit status of the process. May
// throw exceptions of the standard library.
int RunCommandLine(int argc, char** argv);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_COMMAND_LINE_H_
