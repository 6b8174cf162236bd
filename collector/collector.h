// SPDX-License-Identifier: Apache-2.0

// The collector inside a traced process: its parts and its life cycle.
//
//   cuInit -> InitializeInjection -> Start: CUPTI is subscribed, kinds are enabled.
//   First context -> the writer and the flusher thread start, the file is opened.
//   Twice per flush period (1 s): CUPTI's complete buffers, API calls and ranges go to the file.
//   exit, _exit, exec...: BeforeEnd, bounded in time. A forked child touches nothing.
//
// Input: CUPTI's records and callbacks, NVTX. Output: one recording file (recording/format.md).
//
// There is one Collector. It is created on first use and never destroyed, because code at exit must
// not wait. Thread-safety: stated at each function.

#ifndef XLATRACE_COLLECTOR_COLLECTOR_H_
#define XLATRACE_COLLECTOR_COLLECTOR_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "collector/activity_buffers.h"
#include "collector/activity_decoder.h"
#include "collector/cupti_api.h"
#include "collector/definitions.h"
#include "collector/lock.h"
#include "collector/skipped_calls.h"
#include "collector/steering.h"
#include "collector/string_table.h"
#include "collector/tensorflow_ops.h"
#include "collector/work_requests.h"
#include "recording/flush_schedule.h"
#include "recording/writer.h"

namespace xlatrace::collector {

enum class Phase : int {
  kIdle = 0,      // Nothing of CUDA yet; NVTX ranges are remembered, not recorded.
  kStarted = 1,   // CUPTI is on, no context yet.
  kRunning = 2,   // The file is open, the threads run.
  kFinished = 3,  // The process is ending; nothing more is taken.
  kDead = 4,      // A forked child, or a start that failed.
};

class Collector {
 public:
  // Any thread; never fails, never throws.
  static Collector& Get();
  // False in a forked child and after the end. Callers then do nothing.
  static bool Alive();
  static Phase phase() { return static_cast<Phase>(phase_.load(std::memory_order_acquire)); }
  // Rows of API calls and ranges are taken.
  static bool Recording() { return phase() == Phase::kRunning; }

  // From InitializeInjection: subscribes and enables. If that fails, the recording's facts have the
  // reason.
  void Start();
  // From the callback of a new context: opens the recording, starts the threads. Once.
  void OnFirstContext();
  // The process ends or may end; `how` as in preload_abi.h.
  void BeforeEnd(int how);
  // Adds a key and a value to the recording; also before the file is open.
  void Fact(std::string_view key, std::string_view value);
  void DeviceSeen(uint32_t device);
  // A step begins (xlatrace.h, or a window of steps).
  void MarkStep(int64_t step);
  // "step 7", and where a window of steps begins and ends: "first run 12", "next run 19".
  void AppendMark(ThreadLog& log, std::string_view text, int64_t number);
  // The program writes its own profile. Without CUPTI's second interface, that profile has no GPU.
  void OwnProfile();
  // Calls in which the host waits for the device are recorded too.
  bool records_waits() const { return records_waits_; }

  CuptiApi api;
  Definitions definitions;
  StringTable strings{&definitions};
  ActivityBuffers buffers;
  Steering steering;
  TensorFlowOps tensorflow_ops;
  std::atomic<uint64_t> next_run{1};

  // Counters of the callbacks; the writer stores them in the recording.
  std::atomic<uint64_t> pops_unbalanced{0};
  std::atomic<uint64_t> ranges_too_deep{0};
  std::atomic<uint64_t> captured_calls{0};
  // After a fatal error CUPTI finalises itself. A later call would start it again or fail.
  std::atomic<bool> cupti_ended{false};

  void CountAllocationFailure() { allocation_failures_.fetch_add(1, std::memory_order_relaxed); }
  void WakeFlusher() { flushes_wanted_.Wake(); }

 private:
  static constexpr int kNoEndCode = -1;
  Collector() = default;
  static void AtExit();
  static void InForkedChild();
  static void* WriterMain(void* self);
  static void* FlusherMain(void* self);

  bool CuptiIsOn() const {
    return subscriber_ != nullptr && !cupti_ended.load(std::memory_order_acquire);
  }
  void End(int how);
  void BeforeAbort();
  void FinishForAbort();
  void ReportEnd();
  bool Subscribe();
  std::optional<bool> SubscribeBesideOthers();
  void EnableKinds();
  bool OpenRecording();
  void ReadSettings();
  void WriterLoop();
  void IndexBuffers();
  bool TakeIndexed(ActivityBuffers::Buffer* buffer, RecordIndex* index);
  void TakeBuffers(ActivityDecoder& decoder, bool open);
  void DrainLogs(recording::Writer& writer);
  void WatchLimit();
  void WriteRows(ActivityDecoder& decoder, uint64_t whole_until_ns, bool finish, bool open);
  void WriteEndCode(recording::Writer& writer);
  void WriteWindowState(ActivityDecoder& decoder, recording::Writer& writer);
  void FlusherLoop();
  uint64_t FlushEveryMs() const { return recording::MaxFlushIntervalMs(flush_period_ms_); }
  uint64_t FlushEveryMsAt(uint64_t now_ns) const {
    return recording::FlushIntervalMs(flush_period_ms_, now_ns - std::min(now_ns, opened_ns_));
  }
  bool IsStalled(uint64_t now_ns);
  bool IsFlushDue(uint64_t now_ns);
  void SyncClock();
  void QueryDriver();
  // The order of `xlatrace control` in the folder, if it is new.
  bool TakeOrder(recording::ControlOrder* order);
  void ReportState();
  bool WaitForWriter();
  void PrintLine();

  static std::atomic<int> phase_;

  CUpti_SubscriberHandle subscriber_ = nullptr;
  int owner_pid_ = 0;
  std::atomic<bool> opened_{false};
  uint64_t opened_ns_ = 0;  // CLOCK_MONOTONIC; before the threads start.
  std::string place_;       // Folder in use.
  std::string reason_;      // The reason if the place is not the requested one.
  std::string rank_;        // Rank of this process, if a launcher sets one.
  bool claimed_ = false;    // This process prints the line for the job.
  std::unique_ptr<recording::Writer> writer_;
  bool own_table_ = false;  // The writer thread has its own table of descriptors.

  // Completed when the writer thread has written all earlier rows.
  WorkRequests writes_wanted_;
  // Completed when the flusher thread has returned from CUPTI. The last flush is forced.
  WorkRequests flushes_wanted_;
  std::atomic<int> end_how_{kNoEndCode};  // preload_abi.h.
  std::atomic<int> ending_thread_{0};     // The thread that is in BeforeEnd; 0: none.
  std::atomic<bool> abort_done_{false};
  std::atomic<uint32_t> devices_seen_{0};  // Bit per device.
  uint32_t devices_asked_ = 0;             // The flusher thread's.
  std::atomic<bool> failed_to_open_{false};
  std::atomic<bool> own_profile_{false};  // The program made a profile without a GPU.
  std::vector<Definition> taken_;
  std::vector<Definition> held_clocks_;  // Clocks of flushes whose buffers may not be written yet.
  uint64_t flush_period_ms_ = 1000;
  uint64_t stall_ns_ = 0;              // 0: no forced flush before the end.
  std::atomic<uint64_t> progress_{0};  // Calls and activities written.
  // The flusher thread's.
  uint64_t seen_progress_ = 0;
  uint64_t progress_ns_ = 0;  // Time of the last observed change.
  bool stall_flushed_ = false;
  uint64_t flushed_progress_ = 0;
  uint64_t flushed_ns_ = 0;
  std::atomic<uint64_t> flushes_{0};
  // Begin of the last flush whose buffers are in `indexed_` or written, in CLOCK_REALTIME; 0: none.
  std::atomic<uint64_t> whole_until_ns_{0};
  std::atomic<uint64_t> forced_flushes_{0};  // Before the end.
  std::atomic<uint64_t> flush_began_ns_{0};  // CLOCK_MONOTONIC; 0: CUPTI is not flushing.
  std::atomic<int64_t> clock_offset_ns_{0};  // CLOCK_REALTIME less CUPTI's clock.
  // Completed buffers whose records were found, for the writer thread.
  struct Indexed {
    ActivityBuffers::Buffer buffer;
    RecordIndex index;
  };
  pthread_mutex_t indexed_mutex_ = PTHREAD_MUTEX_INITIALIZER;
  std::deque<Indexed> indexed_;
  bool light_ = false;                // No NVTX.
  bool whole_graphs_ = false;         // One row per graph launch.
  bool records_waits_ = false;        // Records calls in which the host waits.
  uint64_t last_ns_ = 0;              // Length of the ring in time; 0: the recording is no ring.
  uint64_t max_bytes_ = 0;            // Limit for the job.
  SkippedCalls skipped_calls_;        // Used only by the writer thread.
  std::set<uint32_t> named_threads_;  // Named by the program. Used only by the
                                      // writer thread.
  uint64_t limit_looked_at_ = 0;
  std::string identity_;  // Identity in the file; with `place_` set before `place_known_`.
  std::atomic<bool> place_known_{false};
  uint64_t order_ = 0;  // Last order obeyed; flusher thread, like the next two.
  uint64_t told_order_ = 0;
  recording::ProcessState told_state_ = recording::ProcessState::kRecording;

  struct Counts {
    uint64_t api_calls = 0;
  } counts_;  // Used only by the writer thread.
  pthread_mutex_t error_mutex_ = PTHREAD_MUTEX_INITIALIZER;
  std::string error_;      // First of the recording's `error` facts.
  std::string stopped_;    // Why the file ended before the program.
  uint64_t launches_ = 0;  // Set by the writer thread before it completes a request.
  uint64_t told_ = 0;      // Launches already reported in the folder's `job`.
  bool told_once_ = false;
  int told_how_ = kNoEndCode;  // Used only by the writer thread.
  std::atomic<uint64_t> flush_timeouts_{0};
  std::atomic<uint64_t> flusher_cost_ns_{0};
  std::atomic<uint64_t> dropped_{0};
  std::atomic<uint64_t> allocation_failures_{0};
};

}  // namespace xlatrace::collector

#endif  // XLATRACE_COLLECTOR_COLLECTOR_H_
