// SPDX-License-Identifier: Apache-2.0

// What to say of a command line that is not understood: the command or option that was meant, if
// that can be guessed, else one that would work. Thread-safety: re-entrant.

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

// `words` as typed, without the program's name; `commands` are those there are.
Error UnknownCommand(const std::vector<std::string>& words,
                     const std::vector<std::string>& commands);

// What `app` could not parse. The hint is an option of similar name, or the command's first
// example.
Error UsageError(const CLI::App& app, const CLI::Error& error);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_UNKNOWN_COMMAND_H_
