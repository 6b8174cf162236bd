// SPDX-License-Identifier: Apache-2.0

// State of every thread of the traced program: its open NVTX ranges, and rows that the writer
// thread will write. The code path of a launch takes no lock.
//
// Thread-safety: a ThreadLog belongs to its thread; Drain is for the writer thread.

#ifndef XLATRACE_COLLECTOR_THREAD_LOG_H_
#define XLATRACE_COLLECTOR_THREAD_LOG_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "collector/skipped_calls.h"
#include "collector/string_table.h"
#include "recording/rows.h"
#include "recording/writer.h"

namespace xlatrace::collector {

struct LogRow {
  enum class Kind : uint8_t { kApi, kRange, kSkippedCall } kind;
  union {
    recording::ApiCallRow api;
    recording::RangeRow range;
    uint32_t skipped;  // Correlation id.
  };
  LogRow() : kind(Kind::kApi), api() {}
};

// One open range.
struct OpenRange {
  const void* domain;  // NVTX handle; nullptr = default domain.
  uint32_t domain_id;  // String id of its name.
  uint32_t text;
  RangeKind kind;
  uint64_t start_ns;  // 0 for thunks and ops, which have no rows.
  bool wanted;        // The range is recorded even if the window (steering.h) is closed at its end.
  // The current strings before this range.
  uint32_t outer_thunk;
  uint32_t outer_module;
  uint64_t outer_run;
};

// The runs of the main module at which a window of steps begins and ends.
enum class StepEdge : uint8_t {
  kNone,
  kFirst,    // The first step of the window.
  kNext,     // The first step after the window.
  kOutside,  // A step outside of the window that is recorded in addition.
};

class ThreadLog {
 public:
  static constexpr uint32_t kMaxDepth = 128;

  uint32_t thread() const { return thread_.load(std::memory_order_relaxed); }

  // ---- Ranges ----
  // Pushes; `run` is the number of the module run for kModule ranges.
  void Push(const OpenRange& range, uint64_t run);
  // Pops the innermost range of `domain` into `popped`, with its depth and module run. False: none.
  bool Pop(const void* domain, OpenRange* popped, uint32_t* depth, uint64_t* run);
  uint32_t depth() const { return depth_ + too_deep_; }

  // Current context: string ids of the innermost thunk (outside of modules: the framework's op) and
  // module, number of the module's run.
  uint32_t thunk() const { return thunk_; }
  uint32_t module() const { return module_; }
  uint64_t run() const { return run_; }
  // Thunk ranges since the module's range began.
  uint32_t thunks_in_run() const { return thunks_in_run_; }

  // ---- The window of steps (steering.h) ----
  // The thread runs the main module, and this run is recorded.
  bool in_step() const { return in_step_; }
  bool in_recorded_step() const { return in_recorded_step_; }
  StepEdge step_edge() const { return step_edge_; }
  void BeginStep(bool recorded, StepEdge edge) {
    in_step_ = true;
    in_recorded_step_ = recorded;
    step_edge_ = edge;
  }
  // Title of the running module, if it was not yet the main module at its first call; otherwise 0.
  uint32_t early_run() const { return early_run_; }
  void set_early_run(uint32_t title) { early_run_ = title; }
  void EndStep() {
    early_run_ = 0;
    in_step_ = in_recorded_step_ = false;
    step_edge_ = StepEdge::kNone;
  }
  // Title of the module whose run has begun without a call so far; 0: none.
  uint32_t pending_run() const { return pending_run_; }
  void set_pending_run(uint32_t title) { pending_run_ = title; }
  // Title of the executable that this thread registers; string id.
  uint32_t registering() const { return registering_; }
  void set_registering(uint32_t title) { registering_ = title; }

  // ---- API calls ----
  enum class CallEnd {
    kRecord,
    kUnknown,   // The beginning of the call was not seen.
    kNested,    // The driver call inside a runtime call, with the same correlation id.
    kCaptured,  // The call created a graph node and started no work.
    kSkipped,   // Outside the window.
  };
  // With `skip` neither the call nor its work is recorded; the writer thread is notified at once.
  void EnterCall(uint32_t correlation, uint64_t now_ns, bool skip = false);
  CallEnd LeaveCall(uint32_t correlation, uint64_t* start_ns);
  void NodeCreated() { captured_ = captured_ || calls_ > 0; }

  // ---- Rows ----
  void Append(const recording::ApiCallRow& row);
  void Append(const recording::RangeRow& row);
  void AppendSkipped(uint32_t correlation);
  // Writes all rows and returns the number of API calls among them. `calls`, if not nullptr, is
  // called with each call that is not recorded, and with `keep` also with recorded calls.
  uint64_t Drain(recording::Writer& writer, SkippedCalls* calls = nullptr, bool keep = true);

  // ---- Cost ----
  // CPU time of callbacks on this thread, estimated from every 1024th.
  // One sample may be below 0: the clock costs more than what it measures, and varies.
  void AddCost(int64_t ns) {
    cost_ns_.store(cost_ns_.load(std::memory_order_relaxed) + ns, std::memory_order_relaxed);
  }
  uint64_t cost_ns() const {
    const int64_t cost = cost_ns_.load(std::memory_order_relaxed);
    return cost < 0 ? 0 : static_cast<uint64_t>(cost);
  }
  bool IsTimeToMeasure() { return (++callbacks_ & 1023) == 0; }

  // The log of the calling thread, created at the first call. nullptr if memory is exhausted.
  static ThreadLog* Current();
  // All logs that ever were, newest first; they are used again by later threads, never freed.
  static ThreadLog* First();
  ThreadLog* Next() const { return next_; }
  static uint64_t rows_lost();
  // For the writer thread: the id of the thread that uses this log, once per thread; otherwise 0.
  // `name`: name of the thread at its first use of the log. The thread may have ended.
  uint32_t TakeNewThread(std::string* name);

 private:
  static constexpr uint32_t kRowsPerChunk = 256;
  struct Chunk {
    std::atomic<uint32_t> filled{0};
    std::atomic<Chunk*> next{nullptr};
    LogRow rows[kRowsPerChunk];
  };

  LogRow* NextRow();
  void Filled();
  void Recompute();
  static ThreadLog* Acquire();
  static void Release(void* log);
  static void MakeKey();

  std::atomic<uint32_t> thread_{0};
  std::atomic<uint64_t> name_[2] = {};  // 15 letters and the end.
  uint32_t thread_told_ = 0;            // The writer thread's.
  uint32_t depth_ = 0;
  uint32_t too_deep_ = 0;
  uint32_t thunk_ = 0;
  uint32_t module_ = 0;
  uint64_t run_ = 0;
  uint32_t thunks_in_run_ = 0;
  uint32_t early_run_ = 0;
  bool in_step_ = false;
  bool in_recorded_step_ = false;
  StepEdge step_edge_ = StepEdge::kNone;
  uint32_t registering_ = 0;
  uint32_t pending_run_ = 0;
  uint32_t callbacks_ = 0;
  std::atomic<int64_t> cost_ns_{0};
  OpenRange open_[kMaxDepth];
  uint64_t runs_[kMaxDepth];

  static constexpr uint32_t kMaxCalls = 8;
  struct OpenCall {
    uint32_t correlation;
    bool nested;
    bool skipped;
    uint64_t start_ns;
  };
  OpenCall call_[kMaxCalls];
  uint32_t calls_ = 0;
  bool captured_ = false;  // Inside the outermost open call.

  Chunk* writing_ = nullptr;  // Owned by the thread.
  Chunk* reading_ = nullptr;  // Owned by the writer thread.
  uint32_t read_ = 0;
  std::atomic<bool> in_use_{false};
  ThreadLog* next_ = nullptr;
};

}  // namespace xlatrace::collector

#endif  // XLATRACE_COLLECTOR_THREAD_LOG_H_
