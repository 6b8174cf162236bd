// SPDX-License-Identifier: Apache-2.0

// Which launches are recorded: all, or those inside a window that steps, times, the program itself
// (xlatrace.h) or `xlatrace control` open and close.
//
// The decision is the launching thread's, at the call's beginning; activities follow their call, so
// that a recording holds whole launches. CUPTI stays on while the window is closed: turning kinds
// off and on has deadlocked (CUDA 13.0), and graphs that are instantiated meanwhile would stay
// without times for good.
//
// Thread-safety: all functions from any thread; Skips takes no lock.

#ifndef XLATRACE_COLLECTOR_STEERING_H_
#define XLATRACE_COLLECTOR_STEERING_H_

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collector/thread_log.h"
#include "recording/control.h"

namespace xlatrace::collector {

// Steps first <= n < end, counted from 0.
struct StepWindow {
  int64_t first = 0;
  int64_t end = 0;
};
// "10:15"; nothing when it is no window.
std::optional<StepWindow> ParseSteps(std::string_view text);

class Steering {
 public:
  // Before anything is recorded. Times are milliseconds; a duration of 0 has no end.
  void Configure(std::optional<StepWindow> steps, uint64_t delay_ms, uint64_t duration_ms);

  // A call that begins now on this thread is not recorded.
  bool Skips(const ThreadLog& log) const {
    // Acquire: the window was written before its bit. (Threads push ranges while another starts
    // CUDA.)
    const uint32_t state = state_.load(std::memory_order_acquire);
    if (state == 0) return false;
    if ((state & kClosed) != 0) return true;
    if ((state & kStepsByMark) != 0) return (state & kOutsideMarks) != 0;
    return (state & kStepsByModule) != 0 && !InSteps(log);
  }
  // A call has been or will be skipped.
  bool EverClosed() const { return ever_closed_.load(std::memory_order_acquire); }

  // Steps are the runs of the main module, counted per context, so per device, whatever threads
  // launch. The main module is the largest of those that run again and again: by the instructions
  // that XLA registered, where it did, else by the thunks of a run. Helpers that are much smaller
  // than some other module are not it, even while nothing larger has run twice.

  // An executable's strings are registered, its title first.
  void OnRegisterModule(ThreadLog& log, uint32_t title);
  void OnRegisterThunk(const ThreadLog& log);
  // Ranges of modules begin and end, and between the two a call is the first of the run: it tells
  // the context. Gives the number of the step that begins with it, for the first context that comes
  // to it and only inside a window of steps.
  void OnModulePush(ThreadLog& log, uint32_t title) { log.set_pending_run(title); }
  std::optional<int64_t> OnFirstCall(ThreadLog& log, uint32_t context);
  void OnModulePop(const ThreadLog& log, uint32_t title);
  // xlatrace_mark_step: from the first one on, marks are the steps. True: to be recorded.
  bool OnMark(const ThreadLog& log, int64_t step);
  void SetPaused(bool paused);
  void OnOrder(const recording::ControlOrder& order);

  // The first context was made: delay and duration count from here (CLOCK_MONOTONIC).
  void Begin(uint64_t now_ns);
  // Opens and closes by the clock; milliseconds until there is something to do, at most `limit_ms`.
  uint64_t Tick(uint64_t now_ns, uint64_t limit_ms);

  recording::ProcessState State() const;

  // What became of the window since the last call, for the recording. kAnew: what was taken for
  // the steps asked for was none (a larger module runs again and again).
  enum class Change : int { kClosed, kOpened, kAnew };
  struct Changed {
    uint64_t time_ns = 0;  // CLOCK_REALTIME.
    Change change = Change::kClosed;
  };
  std::vector<Changed> TakeChanges();
  bool has_steps() const { return has_steps_.load(std::memory_order_acquire); }

 private:
  static constexpr uint32_t kPaused = 1;
  static constexpr uint32_t kStopped = 2;
  static constexpr uint32_t kOutsideTime = 4;
  static constexpr uint32_t kClosed = kPaused | kStopped | kOutsideTime;
  static constexpr uint32_t kStepsByModule = 8;
  static constexpr uint32_t kStepsByMark = 16;
  static constexpr uint32_t kOutsideMarks = 32;

  enum class Progress : int { kBefore, kInside, kAfter };

  void Set(uint32_t bits, bool on);
  void SetProgress(Progress progress);
  // Compares with what was noted last.
  void Note(bool anew = false);

  struct Module {
    uint32_t size = 0;                           // Instructions, or most thunks of a run.
    std::unordered_map<uint32_t, int64_t> runs;  // By context.
  };
  bool InSteps(const ThreadLog& log) const {
    // Before a thread has come to a step of the main module, it is before the first one.
    return log.step_epoch() == epoch_.load(std::memory_order_relaxed) ? log.in_steps()
                                                                      : steps_->first == 0;
  }
  void SetMain(uint32_t title);  // With the lock held.

  std::atomic<uint32_t> state_{0};
  std::atomic<bool> ever_closed_{false};
  std::optional<StepWindow> steps_;  // Written once, before has_steps_.
  std::atomic<bool> has_steps_{false};
  uint64_t delay_ns_ = 0;
  uint64_t duration_ns_ = 0;
  std::atomic<uint64_t> begin_ns_{0};
  std::atomic<int> time_progress_{static_cast<int>(Progress::kInside)};
  std::atomic<int> step_progress_{static_cast<int>(Progress::kInside)};

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  std::unordered_map<uint32_t, Module> modules_;  // By title.
  uint32_t main_ = 0;                             // Title; 0: not known.
  uint32_t largest_ = 0;            // Size of the largest module, whether it is main or not.
  std::atomic<uint32_t> epoch_{1};  // Counts main modules.
  int64_t last_told_ = -1;

  pthread_mutex_t note_mutex_ = PTHREAD_MUTEX_INITIALIZER;
  std::vector<Changed> changes_;
  bool noted_closed_ = false;
};

}  // namespace xlatrace::collector

#endif  // XLATRACE_COLLECTOR_STEERING_H_
