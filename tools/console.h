// SPDX-License-Identifier: Apache-2.0

// Where the program talks to people: results on standard output, everything else on standard
// error. The only file besides main.cc that prints.
//
// Thread-safety: one thread.

#ifndef XLATRACE_TOOLS_CONSOLE_H_
#define XLATRACE_TOOLS_CONSOLE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace CLI {
class App;
}

namespace xlatrace::tools {

// A result, to standard output. False in the Status when it cannot be written (a full disk, say);
// a reader that went away (`| head`) is no error.
Status PrintResult(std::string_view text);

// "xlatrace: TEXT" on standard error: what is being done, and what was found on the way.
void Note(std::string_view text);
void Warn(std::string_view text);

// "xlatrace: error: ..." and "hint: ..." on standard error.
void PrintError(const Error& error);

// A line on standard error that tells how far a long work is; empty (does nothing) where standard
// error is no terminal. EndProgress clears the line.
std::function<void(int64_t done, int64_t all)> ShowProgress(std::string what);
void EndProgress();

// `--strict`: lost records and errors in a run make the exit status 1, for scripts.
void AddStrictFlag(CLI::App& command, bool* strict);
// 1 and a sentence on standard error when there are any.
// `more`: more may be missing than is known to be.
int StrictStatus(int64_t lost, int64_t errors, bool more = false);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_CONSOLE_H_
