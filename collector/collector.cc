// SPDX-License-Identifier: Apache-2.0
#include "collector/collector.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>
#include <string>

#include "collector/activity_decoder.h"
#include "collector/callbacks.h"
#include "collector/descriptors.h"
#include "collector/device_limits.h"
#include "collector/preload_abi.h"
#include "collector/process_facts.h"
#include "collector/recording_place.h"
#include "collector/thread_log.h"
#include "collector/version.h"

namespace xlatrace::collector {

using recording::ProcessState;

namespace {

Collector* instance = nullptr;
pthread_once_t instance_once = PTHREAD_ONCE_INIT;

// Signals of the traced program are for its own threads.
bool StartThread(void* (*body)(void*), void* argument, const char* name) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 512 << 10);
  pthread_t thread;
  const bool started = pthread_create(&thread, &attributes, body, argument) == 0;
  if (started) pthread_setname_np(thread, name);
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

}  // namespace

std::atomic<int> Collector::phase_{static_cast<int>(Phase::kIdle)};

Collector& Collector::Get() {
  pthread_once(&instance_once, [] {
    instance = new Collector;
    instance->owner_pid_ = getpid();
    // A forked child has none of our threads and may not touch CUPTI: it is dead to us.
    pthread_atfork(nullptr, nullptr, &Collector::InForkedChild);
  });
  return *instance;
}

bool Collector::Alive() {
  return phase_.load(std::memory_order_acquire) < static_cast<int>(Phase::kFinished);
}

void Collector::InForkedChild() {
  const auto before = static_cast<Phase>(phase_.load(std::memory_order_relaxed));
  // Before CUDA starts, the child may start CUDA with a collector of its own. Our state holds only
  // the NVTX registrations, and programs of the child have handles of these, so it is kept.
  if (before == Phase::kIdle) {
    instance->owner_pid_ = getpid();
    return;
  }
  phase_.store(static_cast<int>(Phase::kDead), std::memory_order_release);
  // The copy of the file, when the writer thread could not keep it to itself.
  if (instance->writer_ != nullptr) instance->writer_->Abandon(!instance->own_table_);
}

void Collector::Fact(std::string_view key, std::string_view value) {
  if (key == "error") {
    const Lock lock(&error_mutex_);
    if (error_.empty()) error_ = value;
  }
  std::string text(key);
  text.push_back('\0');
  text.append(value);
  definitions.Add(Owned<recording::FactRow>{{}, std::move(text)}, key.size() + value.size());
}

void Collector::DeviceSeen(uint32_t device) {
  if (device >= 32) return;
  const uint32_t bit = 1u << device;
  const uint32_t seen = devices_seen_.fetch_or(bit, std::memory_order_relaxed) | bit;
  buffers.SetDevices(std::popcount(seen));
}

void Collector::Start() {
  int idle = static_cast<int>(Phase::kIdle);
  if (!phase_.compare_exchange_strong(idle, static_cast<int>(Phase::kStarted))) return;
  owner_pid_ = getpid();
  ReadSettings();
  Fact("tool_version", kVersion);
  Fact("mode", light_ ? "light" : "exact");
  Fact("flush_period_ms", std::to_string(flush_period_ms_));
  ReadProcessFacts([this](std::string_view key, std::string_view value) {
    if (key == "rank") rank_ = value;
    Fact(key, value);
  });
  static const xlatrace_collector_functions functions = {
      sizeof(functions),
      [](int how) { Get().BeforeEnd(how); },
      [](long long step) { Get().MarkStep(step); },
      [](int paused) { Get().steering.SetPaused(paused != 0); },
      [] { return Recording() && Get().steering.State() == ProcessState::kRecording ? 1 : 0; },
      [] { Get().OwnProfile(); }};
  using Connect = void (*)(const xlatrace_collector_functions*);
  if (auto connect = reinterpret_cast<Connect>(dlsym(RTLD_DEFAULT, "xlatrace_preload_connect"))) {
    connect(&functions);
  }
  if (!Subscribe()) {
    // An empty recording is opened anyway, for the reason.
    OnFirstContext();
    return;
  }
  EnableKinds();
}

void Collector::OwnProfile() {
  if (!Recording() || !CuptiIsOn() || api.v2_subscriber != nullptr) return;
  if (own_profile_.exchange(true)) return;
  try {
    Fact("own_profile", "no_gpu");
  } catch (const std::bad_alloc&) {
    CountAllocationFailure();
  }
}

void Collector::MarkStep(int64_t step) {
  if (!Alive()) return;
  ThreadLog* log = ThreadLog::Current();
  if (log == nullptr || !steering.OnMark(*log, step)) return;
  try {
    AppendMark(*log, "step ", step);
  } catch (const std::bad_alloc&) {
    CountAllocationFailure();
  }
}

void Collector::AppendMark(ThreadLog& log, std::string_view text, int64_t number) {
  recording::RangeRow row;
  row.thread = log.thread();
  row.domain = strings.Intern("xlatrace");
  row.text = strings.Intern(std::string(text) + std::to_string(number));
  row.start_ns = row.end_ns = NowNs();
  row.depth = log.depth();
  log.Append(row);
}

void Collector::OnFirstContext() {
  if (opened_.exchange(true)) return;
  opened_ns_ = NowNs(CLOCK_MONOTONIC);
  steering.Begin(opened_ns_);
  phase_.store(static_cast<int>(Phase::kRunning), std::memory_order_release);
  if (!StartThread(&WriterMain, this, "xlatrace-write") ||
      !StartThread(&FlusherMain, this, "xlatrace-flush")) {
    phase_.store(static_cast<int>(Phase::kDead), std::memory_order_release);
    return;
  }
  // As late as can be: handlers run newest first, so that CUDA's own come after ours.
  std::atexit(&Collector::AtExit);
}

void* Collector::WriterMain(void* self) {
  static_cast<Collector*>(self)->WriterLoop();
  return nullptr;
}

void* Collector::FlusherMain(void* self) {
  static_cast<Collector*>(self)->FlusherLoop();
  return nullptr;
}

// ---- The flusher thread: the only one that waits for CUPTI. ----

void Collector::FlusherLoop() {
  buffers.SetFlushingThread();
  const auto every_ns = [this](uint64_t now_ns) { return FlushEveryMsAt(now_ns) * 1000000; };
  uint64_t next_ns = opened_ns_ + every_ns(opened_ns_);
  for (;;) {
    const uint64_t now = NowNs(CLOCK_MONOTONIC);
    const uint64_t left_ms = next_ns > now ? (next_ns - now) / 1000000 + 1 : 0;
    const bool notified = flushes_wanted_.Sleep(steering.Tick(now, left_ms));
    const uint64_t begin = NowNs(CLOCK_MONOTONIC);
    steering.Tick(begin, FlushEveryMs());
    // Steps are counted as modules run, because the begin of a step is not known in advance.
    tensorflow_ops.Follow(steering.has_steps() || steering.State() == ProcessState::kRecording);
    const WorkRequests::Work work = flushes_wanted_.Next();
    const bool final = work.last;
    IndexBuffers();
    // Each completed buffer notifies this thread.
    if (notified && begin < next_ns && !flushes_wanted_.IsRequested(work)) continue;
    bool asked = false;  // By `xlatrace control flush`.
    try {
      recording::ControlOrder order;
      asked = TakeOrder(&order) && order.flush;
    } catch (const std::bad_alloc&) {
      CountAllocationFailure();
    }
    if (CuptiIsOn() && (final || asked || IsFlushDue(begin))) {
      // A forced flush gives up the times of work that has not ended.
      const bool early = !final && (asked || IsStalled(begin));
      if (early) forced_flushes_.fetch_add(1, std::memory_order_relaxed);
      flush_began_ns_.store(begin, std::memory_order_relaxed);
      const uint64_t began_ns = NowNs();
      api.cuptiActivityFlushAll(final || early ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
      flush_began_ns_.store(0, std::memory_order_relaxed);
      // Before the clock of this flush is in the file, all that the flush brought is.
      IndexBuffers();
      whole_until_ns_.store(began_ns, std::memory_order_release);
      size_t dropped = 0;
      if (api.Dropped(&dropped) == CUPTI_SUCCESS) {
        dropped_.fetch_add(dropped, std::memory_order_relaxed);
      }
    }
    try {
      QueryDriver();
      // The caller of `xlatrace control` reads the recording afterwards.
      if (asked) WaitForWriter();
      ReportState();
    } catch (const std::bad_alloc&) {
      CountAllocationFailure();
    }
    flusher_cost_ns_.store(NowNs(CLOCK_THREAD_CPUTIME_ID), std::memory_order_relaxed);
    // From beginning to beginning; a CUPTI that takes long gets half of that in peace.
    next_ns = std::max(begin + every_ns(begin), NowNs(CLOCK_MONOTONIC) + every_ns(begin) / 2);
    flushes_wanted_.Done(work);
    // Buffers that came back are written now, not one period later.
    writes_wanted_.Add();
    if (!final) continue;
    if (end_how_.load(std::memory_order_acquire) == XLATRACE_END_ABORT) FinishForAbort();
    return;
  }
}

// Reads facts from CUPTI and the driver. They may use descriptors of the process, which the writer
// thread does not have.
void Collector::QueryDriver() {
  if (CuptiIsOn()) SyncClock();
  recording::ClockRow clock;
  clock.realtime_ns = NowNs();
  if (CuptiIsOn()) api.Timestamp(&clock.cupti_ns);
  clock.monotonic_ns = NowNs(CLOCK_MONOTONIC);
  clock.boottime_ns = NowNs(CLOCK_BOOTTIME);
  definitions.Add(clock, 0);
  const uint32_t devices = devices_seen_.load(std::memory_order_relaxed) & ~devices_asked_;
  for (uint32_t i = 0; i < 32; ++i) {
    if ((devices >> i & 1) != 0) AddDeviceLimits(i, definitions);
  }
  if (devices != 0 && devices_asked_ == 0) {
    Fact("driver_version", std::to_string(DriverVersion()));
  }
  devices_asked_ |= devices;
}

// Nothing was launched and nothing has ended for so long that the program may hang. Then records of
// the work that does not end are worth more than its times. True once, until work goes on.
bool Collector::IsStalled(uint64_t now_ns) {
  const uint64_t progress = progress_.load(std::memory_order_relaxed);
  if (progress != seen_progress_ || progress_ns_ == 0) {
    seen_progress_ = progress;
    progress_ns_ = now_ns;
    stall_flushed_ = false;
    return false;
  }
  if (stall_ns_ == 0 || stall_flushed_ || now_ns - progress_ns_ < stall_ns_ ||
      steering.State() != ProcessState::kRecording) {
    return false;
  }
  stall_flushed_ = true;
  return true;
}

// In the first seconds flushes come often. A framework compiles then, and a flush blocks inside
// CUPTI. So without new calls, activities and buffers half of a flush period passes in between.
bool Collector::IsFlushDue(uint64_t now_ns) {
  const uint64_t progress = progress_.load(std::memory_order_relaxed);
  const bool idle = progress == flushed_progress_ && !buffers.any_in_use();
  if (idle && now_ns - flushed_ns_ < FlushEveryMs() * 1000000) return false;
  flushed_progress_ = progress;
  flushed_ns_ = now_ns;
  flushes_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

// Finds the records of the completed buffers.
void Collector::IndexBuffers() {
  ActivityBuffers::Buffer buffer;
  bool any = false;
  while (buffers.Take(&buffer)) {
    try {
      Indexed indexed{buffer, ActivityDecoder::Index(api, buffer)};
      const Lock lock(&indexed_mutex_);
      indexed_.push_back(std::move(indexed));
      any = true;
    } catch (const std::bad_alloc&) {
      CountAllocationFailure();
      buffers.Recycle(buffer);
    }
  }
  if (any) writes_wanted_.Wake();
}

// Under WSL2, and with a timestamp callback, CUPTI's clock is not CLOCK_REALTIME (cupti_activity.h
// of 13.0: CLOCK_MONOTONIC_RAW). Then times of records are moved by the difference, which is
// measured at each flush because the clocks drift.
void Collector::SyncClock() {
  constexpr int64_t kMinOffsetNs = 1000000;  // More than a call of CUPTI takes.
  constexpr int64_t kMinChangeNs = 10000;
  constexpr int kMaxTries = 3;
  uint64_t best_ns = UINT64_MAX;
  int64_t offset = 0;
  for (int i = 0; i < kMaxTries; ++i) {
    uint64_t cupti_ns = 0;
    const uint64_t before = NowNs();
    if (api.Timestamp(&cupti_ns) != CUPTI_SUCCESS || cupti_ns == 0) return;
    const uint64_t took = NowNs() - before;
    if (took >= best_ns) continue;
    best_ns = took;
    offset = static_cast<int64_t>(before + took / 2 - cupti_ns);
  }
  if (offset < kMinOffsetNs && offset > -kMinOffsetNs) offset = 0;
  const int64_t known = clock_offset_ns_.load(std::memory_order_relaxed);
  if (offset != 0 && known != 0 && std::abs(offset - known) < kMinChangeNs) return;
  clock_offset_ns_.store(offset, std::memory_order_relaxed);
  if (known == 0 && offset != 0) {
    Fact("note", "CUPTI's clock differs from the wall clock by " +
                     std::to_string(offset / kMinOffsetNs) +
                     " ms; device times were moved by the difference");
  }
}

bool Collector::TakeOrder(recording::ControlOrder* order) {
  if (!place_known_.load(std::memory_order_acquire)) return false;
  *order = recording::ReadControl(place_);
  if (order->number <= order_) return false;
  order_ = order->number;
  steering.OnOrder(*order);
  return true;
}

// `xlatrace control` waits for this in the folder.
void Collector::ReportState() {
  if (!place_known_.load(std::memory_order_acquire)) return;
  const ProcessState state = steering.State();
  if (state == told_state_ && order_ == told_order_) return;
  told_state_ = state;
  told_order_ = order_;
  AppendJobLine(place_, recording::FormatState(identity_, order_, state));
}

}  // namespace xlatrace::collector
