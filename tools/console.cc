// SPDX-License-Identifier: Apache-2.0
#include "tools/console.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/number_format.h"
#include "base/terminal.h"

namespace xlatrace::tools {
namespace {

// What cannot be said is not said: a log on a full disk, a closed standard error or a reader that
// went away must not make a failure of what succeeded. (fmt::print would throw.)
void ToStandardError(std::string_view line) {
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::clearerr(stderr);
}

void PrintLine(std::string_view kind, std::string_view text) {
  ToStandardError(fmt::format("xlatrace: {}{}\n", kind, Printable(text)));
}

}  // namespace

Status PrintResult(std::string_view text) {
  const size_t put = std::fwrite(text.data(), 1, text.size(), stdout);
  const bool failed = put != text.size() || std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  if (failed && errno != EPIPE) {
    return MakeError(fmt::format("writing the result: {}", std::strerror(errno)));
  }
  return {};
}

void Note(std::string_view text) { PrintLine("", text); }
void Warn(std::string_view text) { PrintLine("warning: ", text); }

void PrintError(const Error& error) {
  PrintLine("error: ", error.message);
  if (!error.hint.empty()) ToStandardError(fmt::format("hint: {}\n", Printable(error.hint)));
}

std::function<void(int64_t, int64_t)> ShowProgress(std::string what) {
  if (isatty(STDERR_FILENO) == 0) return {};
  return [what = std::move(what)](int64_t done, int64_t all) {
    fmt::print(stderr, "\r\x1b[Kxlatrace: {}: {}{}", what, Thousands(done),
               all > 0 ? fmt::format(" of {} ({}%)", Thousands(all), done * 100 / all) : " rows");
    std::fflush(stderr);
  };
}

void EndProgress() {
  if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\x1b[K");
}

void AddStrictFlag(CLI::App& command, bool* strict) {
  command.add_flag("--strict", *strict, "Exit status 1 when records were lost or errors counted");
}

int StrictStatus(int64_t lost, int64_t errors, bool more) {
  if (lost == 0 && errors == 0 && !more) return 0;
  Note(fmt::format("--strict: {}{} records were lost, {} errors; see the views run_stat{}",
                   more ? "at least " : "", lost, errors, more ? " and process" : ""));
  return 1;
}

}  // namespace xlatrace::tools
