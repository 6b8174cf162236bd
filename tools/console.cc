// SPDX-License-Identifier: Apache-2.0
#include "tools/console.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/number_format.h"
#include "base/terminal.h"

namespace xlatrace::tools {
namespace {

constexpr std::string_view kClearLine = "\r\x1b[K";

// A work of less than this shows no line. XLATRACE_PROGRESS_MS sets another time.
constexpr std::chrono::milliseconds kQuietTime(1000);
constexpr std::chrono::milliseconds kRefreshInterval(200);

// The line of the present work. `shown` is also read by a signal handler.
struct ProgressLine {
  std::mutex mutex;
  std::condition_variable ended_condition;
  std::thread thread;
  std::string work;
  std::chrono::steady_clock::time_point start;
  std::chrono::milliseconds quiet_time = kQuietTime;
  bool active = false;
  std::atomic<bool> shown = false;

  // With the mutex held.
  void Clear() {
    if (!shown.exchange(false)) return;
    std::fwrite(kClearLine.data(), 1, kClearLine.size(), stderr);
    std::fflush(stderr);
  }
  void Draw() {
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start);
    const std::string line = fmt::format("xlatrace: {}, {} s", Printable(work), seconds.count());
    const size_t width = static_cast<size_t>(DetectTerminal().width) - 1;
    // A line that is wider than the terminal could not be removed.
    const std::string text = DisplayWidth(line) > static_cast<int>(width)
                                 ? FitLeft(line, static_cast<int>(width))
                                 : line;
    shown = true;
    std::fwrite(kClearLine.data(), 1, kClearLine.size(), stderr);
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  }
  void Run() {
    std::unique_lock lock(mutex);
    const auto ended = [this] { return !active; };
    if (ended_condition.wait_for(lock, quiet_time, ended)) return;
    do {
      Draw();
    } while (!ended_condition.wait_for(lock, kRefreshInterval, ended));
  }
  void End() {
    {
      const std::lock_guard lock(mutex);
      active = false;
      Clear();
    }
    ended_condition.notify_all();
    if (thread.joinable()) thread.join();
  }
};

// Never destroyed: a signal may come while the process ends.
ProgressLine& TheLine() {
  static auto* line = new ProgressLine;
  return *line;
}

// A full disk, a closed standard error or a reader that went away does not turn success into
// failure. (fmt::print would throw.)
void ToStandardError(std::string_view line) {
  const std::lock_guard lock(TheLine().mutex);
  TheLine().Clear();
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::clearerr(stderr);
}

void PrintLine(std::string_view kind, std::string_view text) {
  ToStandardError(fmt::format("xlatrace: {}{}\n", kind, Printable(text)));
}

}  // namespace

Status PrintResult(std::string_view text) {
  TheLine().End();
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

Progress::Progress(std::string work) : is_outermost_(!TheLine().active) {
  const char* term = std::getenv("TERM");
  const bool dumb = term != nullptr && std::string_view(term) == "dumb";
  if (!is_outermost_ || isatty(STDERR_FILENO) == 0 || dumb) return;
  ProgressLine& line = TheLine();
  line.work = std::move(work);
  line.start = std::chrono::steady_clock::now();
  if (const char* given = std::getenv("XLATRACE_PROGRESS_MS"); given != nullptr) {
    line.quiet_time = std::chrono::milliseconds(std::atoi(given));
  }
  line.active = true;
  line.thread = std::thread([&line] { line.Run(); });
}

Progress::~Progress() {
  if (is_outermost_) TheLine().End();
}

void SetWork(std::string work) {
  const std::lock_guard lock(TheLine().mutex);
  ProgressLine& line = TheLine();
  line.work = std::move(work);
  if (line.active && std::chrono::steady_clock::now() - line.start >= line.quiet_time) line.Draw();
}

std::function<void(int64_t, int64_t)> CountWork(std::string work) {
  if (isatty(STDERR_FILENO) == 0) return {};
  return [work = std::move(work)](int64_t done, int64_t all) {
    SetWork(fmt::format(
        "{}: {}{}", work, Thousands(done),
        all > 0 ? fmt::format(" of {} ({}%)", Thousands(all), done * 100 / all) : " rows"));
  };
}

void ClearProgressOnSignal() {
  if (!TheLine().shown.exchange(false)) return;
  [[maybe_unused]] const ssize_t written =
      write(STDERR_FILENO, kClearLine.data(), kClearLine.size());
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
