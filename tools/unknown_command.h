// What to say of a first word that is no command: the command that was meant, if that can be
// guessed. Thread-safety: re-entrant.

#ifndef XLATRACE_TOOLS_UNKNOWN_COMMAND_H_
#define XLATRACE_TOOLS_UNKNOWN_COMMAND_H_

#include <string>
#include <vector>

#include "base/error.h"

namespace xlatrace::tools {

// `words` as typed, without the program's name; `commands` are those there are.
Error UnknownCommand(const std::vector<std::string>& words,
                     const std::vector<std::string>& commands);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_UNKNOWN_COMMAND_H_
