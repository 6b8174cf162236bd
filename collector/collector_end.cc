// SPDX-License-Identifier: Apache-2.0

// The end of a process: what is complete goes to the file, within a limit of time; then the line.

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>

#include <sys/syscall.h>

#include "collector/collector.h"
#include "collector/lock.h"
#include "collector/preload_abi.h"
#include "collector/recording_place.h"

namespace xlatrace::collector {
namespace {

// At worst.
constexpr uint64_t kFlushLimitMs = 3000;
constexpr uint64_t kWriteLimitMs = 5000;

}  // namespace

bool Collector::WaitForWriter() { return writes_wanted_.Wait(writes_wanted_.Add(), kWriteLimitMs); }

void Collector::AtExit() { Get().BeforeEnd(XLATRACE_END_EXIT); }

void Collector::BeforeEnd(int how) {
  if (getpid() != owner_pid_) return;  // A child that shares our memory (vfork) or our image.
  if (phase() != Phase::kRunning && phase() != Phase::kFinished) return;
  if (how == XLATRACE_END_NOT) {
    // An exec that failed. Later work of the program is written with the next flush.
    int exec = XLATRACE_END_EXEC;
    end_how_.compare_exchange_strong(exec, kNoEndCode);
    return;
  }
  // Two threads leave at once. The first one ends the recording. The second one waits, because its
  // return ends the process, and because the first one may only exec.
  const int self = static_cast<int>(syscall(SYS_gettid));
  for (uint64_t waited_ms = 0;; ++waited_ms) {
    int none = 0;
    if (ending_thread_.compare_exchange_strong(none, self)) break;
    // A signal handler of the thread that ends the recording already.
    if (none == self || waited_ms >= kFlushLimitMs + kWriteLimitMs) return;
    const timespec moment = {0, 1000000};
    nanosleep(&moment, nullptr);
  }
  if (phase() == Phase::kRunning) End(how);
  ending_thread_.store(0);
}

void Collector::End(int how) {
  end_how_.store(how, std::memory_order_release);
  if (how == XLATRACE_END_ABORT) {
    BeforeAbort();
    return;
  }
  const bool terminal = how != XLATRACE_END_EXEC && how != XLATRACE_END_MAYBE;
  if (terminal) flushes_wanted_.MakeNextLast();
  // FlushAll has no limit of its own and has been seen to hang (HPCToolkit #195).
  if (!flushes_wanted_.Wait(flushes_wanted_.Add(), kFlushLimitMs)) {
    flush_timeouts_.fetch_add(1, std::memory_order_relaxed);
  }
  if (terminal) writes_wanted_.MakeNextLast();
  const bool written = WaitForWriter();
  if (written) ReportEnd();
  if (!terminal) {
    if (how == XLATRACE_END_MAYBE) end_how_.store(kNoEndCode, std::memory_order_release);
    return;
  }
  phase_.store(static_cast<int>(Phase::kFinished), std::memory_order_release);
  try {
    if (written) PrintLine();
  } catch (const std::bad_alloc&) {
    // The recording is whole; only the line is missing.
  }
}

void Collector::ReportEnd() {
  if (failed_to_open_.load(std::memory_order_acquire)) return;
  try {
    AppendEndLine(place_, launches_ - told_, !told_once_);
    told_ = launches_;
    told_once_ = true;
  } catch (const std::bad_alloc&) {
  }
}

// A thread that aborts may hold any lock, that of malloc too. So it adds a request and waits,
// without a lock and without memory. If the flusher thread needs such a lock, the time runs out.
void Collector::BeforeAbort() {
  flushes_wanted_.MakeNextLast();
  flushes_wanted_.TryAdd();
  const uint64_t until = NowNs(CLOCK_MONOTONIC) + kFlushLimitMs * 1000000;
  while (!abort_done_.load(std::memory_order_acquire) && NowNs(CLOCK_MONOTONIC) < until) {
    const timespec moment = {0, 1000000};
    nanosleep(&moment, nullptr);
  }
  phase_.store(static_cast<int>(Phase::kFinished), std::memory_order_release);
}

void Collector::FinishForAbort() {
  writes_wanted_.MakeNextLast();
  if (WaitForWriter()) {
    ReportEnd();
    try {
      PrintLine();
    } catch (const std::bad_alloc&) {
    }
  }
  abort_done_.store(true, std::memory_order_release);
}

void Collector::PrintLine() {
  const bool failed = failed_to_open_.load(std::memory_order_acquire);
  const char* quiet = std::getenv("XLATRACE_QUIET");
  if (quiet != nullptr && *quiet != '\0' && *quiet != '0') return;
  // One line per job: the first process prints it, of many ranks the one with rank 0.
  const char* main_pid = std::getenv(XLATRACE_ENV_MAIN);
  const bool is_main = main_pid == nullptr ? claimed_ : std::atoi(main_pid) == getpid();
  if (!is_main || (!rank_.empty() && rank_ != "0")) return;
  if (failed) {
    std::fprintf(stderr, "xlatrace: nothing is recorded: %s\n", reason_.c_str());
    return;
  }
  if (access(place_.c_str(), F_OK) != 0 && errno == ENOENT) {
    std::fprintf(stderr, "xlatrace: nothing is recorded: %s was removed while the program ran\n",
                 place_.c_str());
    return;
  }
  uint64_t launches = 0;
  int processes = 0;
  EndedProcesses(place_, &processes, &launches);
  std::string count = std::to_string(launches);
  for (size_t at = count.size(); at > 3; at -= 3) count.insert(at - 3, ",");
  // run.rec beside run.db.
  std::string run = place_;
  if (run.size() > 4 && run.compare(run.size() - 4, 4, ".rec") == 0) {
    run = run.substr(0, run.size() - 4) + ".db";
  }
  const auto shown = [](const std::string& path) {
    char here[4096];
    if (getcwd(here, sizeof(here)) == nullptr) return path;
    const std::string prefix = std::string(here) + "/";
    return path.compare(0, prefix.size(), prefix) == 0 ? path.substr(prefix.size()) : path;
  };
  std::string note = reason_;
  {
    const Lock lock(&error_mutex_);
    for (const std::string& more : {error_, stopped_}) {
      if (!more.empty()) note += (note.empty() ? "" : "; ") + more;
    }
  }
  if (own_profile_.load(std::memory_order_relaxed)) {
    note += note.empty() ? "" : "; ";
    note += "the program's own profile has no GPU in it: CUPTI serves one profiler at a time";
  }
  if (!note.empty()) note = " (" + note + ")";
  std::fprintf(stderr, "xlatrace: %s %s, %d %s -> %s%s; next: xlatrace report %s\n", count.c_str(),
               launches == 1 ? "launch" : "launches", processes,
               processes == 1 ? "process" : "processes", shown(place_).c_str(), note.c_str(),
               shown(run).c_str());
}

}  // namespace xlatrace::collector
