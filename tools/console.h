// SPDX-License-Identifier: Apache-2.0

// Output of the program: results on standard output, everything else on standard error. The only
// file besides main.cc that prints.
//
// Thread-safety: one thread. A Progress has a thread of its own.

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

// Prints a result to standard output. Fails if it cannot be written, for example on a full disk. A
// reader that closed the pipe (`| head`) is not an error.
Status PrintResult(std::string_view text);

// "xlatrace: TEXT" on standard error: what is being done, and what was found on the way.
void Note(std::string_view text);
void Warn(std::string_view text);

// "xlatrace: error: ..." and "hint: ..." on standard error.
void PrintError(const Error& error);

// While it exists, and from its second second on, a line on standard error shows the present work
// and its seconds: "xlatrace: reading a.xplane.pb, 3 s". Nothing is shown if standard error is no
// terminal. Notes appear above the line; the first result ends it. Nested ones do nothing.
class Progress {
 public:
  explicit Progress(std::string work);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  bool is_outermost_;
};

// The present work of the innermost part of the program, such as "writing run.db". Without a
// Progress, this does nothing.
void SetWork(std::string work);

// For a work with a known size: sets "WORK: 1,000 of 5,000 (20%)". Empty if standard error is no
// terminal.
std::function<void(int64_t done, int64_t all)> CountWork(std::string work);

// Removes the line. Async-signal-safe.
void ClearProgressOnSignal();

// `--strict`: lost records and errors in a run make the exit status 1, for scripts.
void AddStrictFlag(CLI::App& command, bool* strict);
// 1 and a sentence on standard error when there are any.
// `more`: more may be missing than is known to be.
int StrictStatus(int64_t lost, int64_t errors, bool more = false);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_CONSOLE_H_
