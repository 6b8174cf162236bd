// SPDX-License-Identifier: Apache-2.0

// Output of the program: results on standard output, all other text on standard error. Only this
// file and main.cc print.
//
// Thread-safety: one thread. A Progress has a separate thread.

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

// Prints a result to standard output. Fails if writing fails, for example on a full disk. A reader
// that closed the pipe (`| head`) is no error.
Status PrintResult(std::string_view text);

// Prints "xlatrace: TEXT" on standard error: the present work, or a fact that was found.
void Note(std::string_view text);
void Warn(std::string_view text);

// "xlatrace: error: ..." and "hint: ..." on standard error.
void PrintError(const Error& error);

// From the second second of its lifetime on, a line on standard error shows the present work and
// its seconds: "xlatrace: reading a.xplane.pb, 3 s". The line is shown in terminals only. Notes
// appear above the line; the first result ends it. Nested objects do nothing.
class Progress {
 public:
  explicit Progress(std::string work);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  bool is_outermost_;
};

// Sets the present work, such as "writing run.db", for the innermost Progress. Without a Progress,
// this does nothing.
void SetWork(std::string work);

// For a work with a known size: sets "WORK: 1,000 of 5,000 (20%)". Empty if standard error is no
// terminal.
std::function<void(int64_t done, int64_t all)> CountWork(std::string work);

// Removes the line. Async-signal-safe.
void ClearProgressOnSignal();

// `--strict`: lost records and errors in a run set the exit status 1, for scripts.
void AddStrictFlag(CLI::App& command, bool* strict);
// Returns 1 and prints a sentence on standard error if records were lost. `more`: more records may
// be lost than are known.
int StrictStatus(int64_t lost, int64_t errors, bool more = false);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_CONSOLE_H_
