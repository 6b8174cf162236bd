// SPDX-License-Identifier: Apache-2.0

// Errors for a command line that cannot be parsed. The hint is the most similar command or option,
// or else a working example. Thread-safety: re-entrant.

#ifndef XLATRACE_TOOLS_UNKNOWN_COMMAND_H_
#define XLATRACE_TOOLS_UNKNOWN_COMMAND_H_

#include <string>
#include <vector>

#include "base/error.h"

namespace CLI {
class App;
class Error;
}  // namespace CLI

namespace xlatrace::tools {

// `words`: as typed, without the program's name. `commands`: all existing commands.
Error UnknownCommand(const std::vector<std::string>& words,
                     const std::vector<std::string>& commands);

// The error for words that `app` could not parse. The hint is a similar option, or the command's
// first example.
Error UsageError(const CLI::App& app, const CLI::Error& error);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_UNKNOWN_COMMAND_H_
