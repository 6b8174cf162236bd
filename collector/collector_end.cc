// SPDX-License-Identifier: Apache-2.0

// The end of a process: what is complete goes to the file, within a limit of time; then the line.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>

#include "collector/collector.h"
#include "collector/lock.h"
#include "collector/preload_abi.h"
#include "collector/recording_place.h"

namespace xlatrace::collector {
namespace {

// At worst.
constexpr uint64_t kFlushLimitMs = 3000;
constexpr uint64_t kWriteLimitMs = 5000;

bool Wait(Signal& signal, const std::atomic<uint64_t>& done, uint64_t wanted, uint64_t limit_ms) {
  const uint64_t until = NowNs(CLOCK_MONOTONIC) + limit_ms * 1000000;
  for (;;) {
    const uint64_t seen = signal.count();
    if (done.load(std::memory_order_acquire) >= wanted) return true;
    const uint64_t now = NowNs(CLOCK_MONOTONIC);
    if (now >= until) return false;
    signal.WaitBeyond(seen, std::min<uint64_t>((until - now) / 1000000 + 1, 100));
  }
}

}  // namespace

bool Collector::WaitForWriter() {
  const uint64_t write = write_wanted_.fetch_add(1, std::memory_order_acq_rel) + 1;
  writer_signal_.Notify();
  return Wait(written_signal_, write_done_, write, kWriteLimitMs);
}

void Collector::AtExit() { Get().BeforeEnd(XLATRACE_END_EXIT); }

void Collector::BeforeEnd(int how) {
  if (getpid() != owner_pid_) return;  // A child that shares our memory (vfork) or our image.
  if (phase() != Phase::kRunning) return;
  if (how == XLATRACE_END_NOT) {
    // An exec that failed. What the program does from here on is written with the next flush.
    int exec = XLATRACE_END_EXEC;
    end_how_.compare_exchange_strong(exec, kNotEnding);
    return;
  }
  static std::atomic<bool> ending{false};
  if (ending.exchange(true)) return;  // Two threads leave at once: the first one does it.
  end_how_.store(how, std::memory_order_release);
  if (how == XLATRACE_END_ABORT) {
    BeforeAbort();
    return;
  }
  const bool terminal = how != XLATRACE_END_EXEC && how != XLATRACE_END_MAYBE;
  if (terminal) final_flush_.store(true, std::memory_order_release);
  const uint64_t flush = flush_wanted_.fetch_add(1, std::memory_order_acq_rel) + 1;
  flusher_signal_.Notify();
  // FlushAll has no limit of its own and has been seen to hang (HPCToolkit #195).
  if (!Wait(flushed_signal_, flush_done_, flush, kFlushLimitMs)) {
    flush_timeouts_.fetch_add(1, std::memory_order_relaxed);
  }
  if (terminal) finish_.store(true, std::memory_order_release);
  const bool written = WaitForWriter();
  if (written) Told();
  if (!terminal) {
    if (how == XLATRACE_END_MAYBE) end_how_.store(kNotEnding, std::memory_order_release);
    ending.store(false);
    return;
  }
  phase_.store(static_cast<int>(Phase::kFinished), std::memory_order_release);
  try {
    if (written) PrintLine();
  } catch (const std::bad_alloc&) {
    // The recording is whole; only the line is missing.
  }
}

void Collector::Told() {
  if (failed_to_open_.load(std::memory_order_acquire)) return;
  try {
    TellEnd(place_, launches_ - told_, !told_once_);
    told_ = launches_;
    told_once_ = true;
  } catch (const std::bad_alloc&) {
  }
}

// Who aborts may hold any lock, that of malloc too: it asks and waits, without a lock and without
// memory. The flusher thread does the rest; where it needs what the other holds, the time is up.
void Collector::BeforeAbort() {
  final_flush_.store(true, std::memory_order_release);
  flush_wanted_.fetch_add(1, std::memory_order_acq_rel);
  flusher_signal_.TryNotify();
  const uint64_t until = NowNs(CLOCK_MONOTONIC) + kFlushLimitMs * 1000000;
  while (!abort_done_.load(std::memory_order_acquire) && NowNs(CLOCK_MONOTONIC) < until) {
    const timespec moment = {0, 1000000};
    nanosleep(&moment, nullptr);
  }
  phase_.store(static_cast<int>(Phase::kFinished), std::memory_order_release);
}

void Collector::FinishForAbort() {
  finish_.store(true, std::memory_order_release);
  if (WaitForWriter()) {
    Told();
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
  // One line per job: the first process says it, of many ranks the one with rank 0.
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
  // run.rec beside run.db: the folder's name says the run's.
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
