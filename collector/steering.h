// SPDX-License-Identifier: Apache-2.0

// Decides which launches are recorded: all, or those inside a window. Steps, times, the program
// itself (xlatrace.h) or `xlatrace control` open and close the window.
//
// The launching thread decides at the begin of the call. Activities follow their call, so that a
// recording has whole launches. CUPTI stays on while the window is closed. Switching kinds off and
// on has deadlocked (CUDA 13.0), and graphs that are instantiated meanwhile would never get times.
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
// "10:15"; nullopt if the text is not a window.
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
    if ((state & kClosedMask) != 0) return true;
    if ((state & kStepsByMarkFlag) != 0) return (state & kOutsideMarksFlag) != 0;
    if ((state & kStepsByModuleFlag) == 0) return false;
    // A run is recorded as a whole.
    return log.in_step() ? !log.in_recorded_step() : (state & kOutsideStepsFlag) != 0;
  }
  // A call has been or will be skipped.
  bool EverClosed() const { return ever_closed_.load(std::memory_order_acquire); }

  // Steps are the runs of the main module, counted per context (and so per device), on any thread.
  // The main module is the largest module that runs repeatedly. Its size is the number of
  // instructions that XLA registered, or else of thunks in a run. Modules much smaller than another
  // module are helpers, even if no larger module has run twice.
  //
  // A window of steps is one interval of the process for all threads, and wider than the steps. It
  // opens one step early, because a copy of the previous step may run in parallel with the first
  // step. It closes when the device has begun the step after the last one. Devices lag behind the
  // program, so copies that other threads issue meanwhile run in parallel with the last steps. The
  // importer cuts the interval to the steps (importers/recording/step_edges.h).

  // An executable's strings are registered, its title first.
  void OnRegisterModule(ThreadLog& log, uint32_t title);
  void OnRegisterThunk(const ThreadLog& log);
  // Ranges of modules begin and end. A call between the two has the context, and the first call
  // is the begin of the run.
  void OnModulePush(ThreadLog& log, uint32_t title) { log.set_pending_run(title); }
  struct RunBegin {
    // Number of the step, for the first context that reaches it. Only inside a window of steps that
    // does not begin at 0, and for the step after the window.
    std::optional<int64_t> step;
    StepEdge edge = StepEdge::kNone;
  };
  RunBegin OnFirstCall(ThreadLog& log, uint32_t context);
  // A run that began before its module was recognised as the main module is a step before the
  // window.
  void OnLaterCall(ThreadLog& log) const {
    if (log.early_run() != main_.load(std::memory_order_relaxed)) return;
    log.set_early_run(0);
    if (steps_->first > 0) log.BeginStep(false, StepEdge::kNone);
  }
  // A call of the first run after the window. OnWork reports that the device runs it.
  void AwaitWork(uint32_t context, uint32_t correlation);
  bool awaits_work() const { return awaits_work_.load(std::memory_order_relaxed); }
  void OnWork(uint32_t correlation);
  void OnModulePop(ThreadLog& log, uint32_t title);
  // xlatrace_mark_step. From the first mark on, marks define the steps. True: the step is to be
  // recorded.
  bool OnMark(const ThreadLog& log, int64_t step);
  void SetPaused(bool paused);
  void OnOrder(const recording::ControlOrder& order);

  // The first context was created: delay and duration count from now (CLOCK_MONOTONIC).
  void Begin(uint64_t now_ns);
  // Opens and closes the window by the clock. Returns the milliseconds until the next action, at
  // most `limit_ms`.
  uint64_t Tick(uint64_t now_ns, uint64_t limit_ms);

  recording::ProcessState State() const;

  // A change of the window, for the recording. kAnew: a larger module runs repeatedly, so the steps
  // so far were those of a helper. TakeChanges returns the changes since its last call.
  enum class Change : int { kClosed, kOpened, kAnew };
  struct Changed {
    uint64_t time_ns = 0;  // CLOCK_REALTIME.
    Change change = Change::kClosed;
  };
  std::vector<Changed> TakeChanges();
  // Runs of modules are counted: for a window of steps, and to report how many steps ran before a
  // delay was over.
  bool counts_steps() const { return counts_steps_.load(std::memory_order_acquire); }
  struct Counted {
    uint64_t modules = 0;  // Executions of modules.
    uint64_t steps = 0;    // Executions of the main module, or marked steps.
    bool before_delay = false;
  };
  Counted CountedSteps() const;
  bool has_steps() const { return has_steps_.load(std::memory_order_acquire); }

 private:
  static constexpr uint32_t kPausedFlag = 1;
  static constexpr uint32_t kStoppedFlag = 2;
  static constexpr uint32_t kOutsideTimeFlag = 4;
  static constexpr uint32_t kClosedMask = kPausedFlag | kStoppedFlag | kOutsideTimeFlag;
  static constexpr uint32_t kStepsByModuleFlag = 8;
  static constexpr uint32_t kStepsByMarkFlag = 16;
  static constexpr uint32_t kOutsideMarksFlag = 32;
  static constexpr uint32_t kOutsideStepsFlag = 64;

  enum class Progress : int { kBefore, kInside, kAfter };

  void Set(uint32_t bits, bool on);
  void FollowSteps();  // Call it with the lock held.
  // Compares the state with the last reported state.
  void Note(bool anew = false);

  struct Module {
    uint32_t size = 0;                           // Instructions, or most thunks of a run.
    std::unordered_map<uint32_t, int64_t> runs;  // By context.
  };
  struct Context {
    int64_t step = -1;  // Number of runs of the main module so far, minus 1.
    bool done = false;  // The process does not wait for the device, because it has left the window.
  };
  void SetMain(uint32_t title);  // Call it with the lock held.

  std::atomic<uint32_t> state_{0};
  std::atomic<bool> ever_closed_{false};
  std::optional<StepWindow> steps_;  // Written once, before has_steps_.
  std::atomic<bool> has_steps_{false};
  std::atomic<bool> counts_steps_{false};
  uint64_t delay_ns_ = 0;
  uint64_t duration_ns_ = 0;
  std::atomic<uint64_t> begin_ns_{0};
  std::atomic<int> time_progress_{static_cast<int>(Progress::kInside)};
  std::atomic<int> step_progress_{static_cast<int>(Progress::kInside)};

  mutable pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  std::unordered_map<uint32_t, Module> modules_;  // By title.
  uint64_t marks_ = 0;
  std::atomic<uint32_t> main_{0};  // Title; 0: not known.
  uint32_t largest_ = 0;           // Size of the largest module, also if it is not the main module.
  std::unordered_map<uint32_t, Context> contexts_;  // All that ran the main module.
  std::unordered_map<uint32_t, uint32_t> awaited_;  // Correlation id -> context.
  std::atomic<bool> awaits_work_{false};
  int64_t last_told_ = -1;

  pthread_mutex_t note_mutex_ = PTHREAD_MUTEX_INITIALIZER;
  std::vector<Changed> changes_;
  bool noted_closed_ = false;
};

}  // namespace xlatrace::collector

#endif  // XLATRACE_COLLECTOR_STEERING_H_
