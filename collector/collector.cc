#include "collector/collector.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
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

constexpr uint64_t kDefaultMaxBytes = uint64_t{4} << 30;
constexpr size_t kWakeAtBytes = 4 << 20;  // Definitions that wait wake the writer early.

uint64_t EnvNumber(const char* name, uint64_t otherwise, uint64_t least, uint64_t most) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return otherwise;
  char* end = nullptr;
  const unsigned long long value = std::strtoull(text, &end, 10);
  if (end == text || *end != '\0') return otherwise;
  return std::clamp<uint64_t>(value, least, most);
}

Collector* instance = nullptr;
pthread_once_t instance_once = PTHREAD_ONCE_INIT;

void CUPTIAPI OnBufferRequested(uint8_t** data, size_t* bytes, size_t* max_records) {
  const ActivityBuffers::Buffer buffer = Collector::Get().buffers.Request();
  *data = buffer.data;
  *bytes = buffer.bytes;
  *max_records = 0;
}

void CUPTIAPI OnBufferCompleted(CUcontext, uint32_t, uint8_t* data, size_t bytes, size_t valid) {
  Collector& collector = Collector::Get();
  collector.buffers.Completed(data, bytes, valid);
  if (Collector::Alive()) collector.WakeWriter();
}

// The same for the second interface.
void CUPTIAPI OnBufferRequestedV2(uint8_t** data, size_t* bytes, size_t* max_records, void*) {
  OnBufferRequested(data, bytes, max_records);
}
void CUPTIAPI OnBufferCompletedV2(uint8_t* data, size_t bytes, size_t valid, void*) {
  OnBufferCompleted(nullptr, 0, data, bytes, valid);
}

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
  // Before CUDA starts a child may start it by itself, with a collector of its own state: ours is
  // empty yet, but for what NVTX registered, which the child's programs hold handles of.
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
  if (device < 32) devices_seen_.fetch_or(1u << device, std::memory_order_relaxed);
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
    // Opened all the same: an empty recording that says why.
    OnFirstContext();
    return;
  }
  EnableKinds();
}

// What `xlatrace record` was asked for, as it reaches the process. What makes no sense is told and
// left out: all is recorded then.
void Collector::ReadSettings() {
  const auto text = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  flush_period_ms_ = EnvNumber("XLATRACE_FLUSH_MS", 1000, 10, 60000);
  max_bytes_ = EnvNumber("XLATRACE_MAX_BYTES", kDefaultMaxBytes, 1 << 20, uint64_t{1} << 50);
  light_ = text("XLATRACE_MODE") == "light";
  whole_graphs_ = text("XLATRACE_GRAPHS") == "graph";
  records_waits_ = text("XLATRACE_SYNC") == "1";
  last_ns_ = EnvNumber("XLATRACE_LAST_MS", 0, 0, uint64_t{1} << 40) * 1000000;
  const uint64_t delay_ms = EnvNumber("XLATRACE_DELAY_MS", 0, 0, uint64_t{1} << 40);
  const uint64_t duration_ms = EnvNumber("XLATRACE_DURATION_MS", 0, 0, uint64_t{1} << 40);
  std::optional<StepWindow> steps;
  if (const std::string asked = text("XLATRACE_STEPS"); !asked.empty()) {
    steps = ParseSteps(asked);
    if (steps && light_) {
      steps.reset();
      Fact("error", "XLATRACE_STEPS needs XLA's ranges, which light mode does not record");
    } else if (!steps) {
      Fact("error", "XLATRACE_STEPS is no window of steps (first:end): " + asked);
    } else {
      Fact("steps", asked);
    }
  }
  if (delay_ms != 0) Fact("delay_ms", std::to_string(delay_ms));
  if (duration_ms != 0) Fact("duration_ms", std::to_string(duration_ms));
  if (last_ns_ != 0) Fact("last_ms", std::to_string(last_ns_ / 1000000));
  if (whole_graphs_) Fact("graphs", "graph");
  steering.Configure(steps, delay_ms, duration_ms);
}

bool Collector::Subscribe() {
  std::string error;
  if (!LoadCupti(&api, &error)) {
    Fact("error", error);
    return false;
  }
  Fact("cupti_version", std::to_string(api.version));
  Fact("cupti_path", api.path);
  if (api.CanUseV2()) {
    if (const std::optional<bool> subscribed = SubscribeBesideOthers()) return *subscribed;
  }
  // Without a subscription of our own two tools would overwrite each other's buffers, silently.
  const CUptiResult result =
      api.cuptiSubscribe(&subscriber_, reinterpret_cast<CUpti_CallbackFunc>(&OnCallback), this);
  if (result == CUPTI_SUCCESS) return true;
  error = "cuptiSubscribe: " + api.Describe(result);
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    error += ": another profiler holds CUPTI";
    // The newer function names it (13.0; from 13.2 on the two may not be mixed).
    if (api.cuptiSubscribe_v2 != nullptr && api.version >= 130000 && api.version < 130200) {
      char holder[128] = "";
      CUpti_SubscriberParams parameters = {};
      parameters.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
      parameters.subscriberName = "xlatrace";
      parameters.oldSubscriberName = holder;
      parameters.oldSubscriberSize = sizeof(holder);
      CUpti_SubscriberHandle unused = nullptr;
      api.cuptiSubscribe_v2(&unused, reinterpret_cast<CUpti_CallbackFunc>(&OnCallback), this,
                            &parameters);
      if (holder[0] != '\0') error.append(": ").append(holder);
    }
  } else if (IsUnderDebugger()) {
    error += ": a debugger is attached, beside which CUPTI does not work";
  }
  Fact("error", error);
  return false;
}

// The second interface, for several profilers at a time, when all of them ask for that. Nullopt: it
// is not to be had (the driver is older than this CUPTI); the first one may be.
std::optional<bool> Collector::SubscribeBesideOthers() {
  char first[128] = "";
  cupti_v2::SubscriberParams parameters;
  parameters.struct_size = sizeof(parameters);
  parameters.subscriber_name = "xlatrace";
  parameters.old_subscriber_name = first;
  parameters.old_subscriber_size = sizeof(first);
  parameters.allow_multiple_subscribers = 1;
  const CUptiResult result = api.v2.cuptiSubscribe_v2(
      &subscriber_, reinterpret_cast<CUpti_CallbackFunc>(&OnCallback), this, &parameters);
  if (result == CUPTI_SUCCESS) {
    api.v2_subscriber = subscriber_;
    Fact("cupti_interface", "2");
    if (first[0] != '\0') Fact("beside_profiler", first);
    return true;
  }
  subscriber_ = nullptr;
  if (result != CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) return std::nullopt;
  std::string error =
      "cuptiSubscribe_v2: " + api.Describe(result) + ": another profiler holds CUPTI for itself";
  if (first[0] != '\0') error.append(": ").append(first);
  Fact("error", error);
  return false;
}

void Collector::EnableKinds() {
  // CUPTI takes NULL for a buffer from 12.9 on (API 27); it crashed before.
  buffers.Configure(api.version >= 27);
  // Our buffers come zeroed; else CUPTI clears them on the program's own threads.
  uint8_t zeroed = 1;
  size_t size = sizeof(zeroed);
  api.SetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &zeroed);
  CUptiResult result =
      api.v2_subscriber != nullptr
          ? api.v2.cuptiActivityRegisterCallbacks_v2(api.v2_subscriber, &OnBufferRequestedV2,
                                                     &OnBufferCompletedV2)
          : api.cuptiActivityRegisterCallbacks(&OnBufferRequested, &OnBufferCompleted);
  if (result != CUPTI_SUCCESS) {
    Fact("error", "cuptiActivityRegisterCallbacks: " + api.Describe(result));
  }
  EnableCallbacks(*this, subscriber_);
  for (const CUpti_ActivityKind kind :
       {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
        CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_DEVICE,
        CUPTI_ACTIVITY_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_STREAM, CUPTI_ACTIVITY_KIND_OVERHEAD}) {
    result = api.Enable(kind);
    if (result == CUPTI_SUCCESS) continue;
    Fact("error", "cuptiActivityEnable(" + std::to_string(kind) + "): " + api.Describe(result));
  }
  if (!whole_graphs_) return;
  // One record per graph launch in place of one per node.
  result = api.Enable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  if (result != CUPTI_SUCCESS) {
    Fact("graphs", "node");
    Fact("note", "whole graphs cannot be recorded here: " + api.Describe(result));
  }
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
    AppendMark(*log, step);
  } catch (const std::bad_alloc&) {
    CountAllocationFailure();
  }
}

void Collector::AppendMark(ThreadLog& log, int64_t step) {
  recording::RangeRow row;
  row.thread = log.thread();
  row.domain = strings.Intern("xlatrace");
  row.text = strings.Intern("step " + std::to_string(step));
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

// In the writer thread: with a table of descriptors of its own, where that can be had, the file is
// in nobody's way. A program that closes all descriptors, as daemons do, neither ends the recording
// nor gets our blocks into a file of its own that has the number next; a forked child inherits
// nothing.
bool Collector::OpenRecording() {
  own_table_ = UnshareDescriptors();
  const uint64_t now = NowNs();
  RecordingPlace place = OpenRecordingPlace(now / 1000000000);
  place_ = place.folder;
  reason_ = place.note;
  claimed_ = place.claimed;
  if (place.fd < 0) return false;
  Fact("start_unix_ns", std::to_string(now));
  if (!place.note.empty()) Fact("place_note", place.note);
  writer_ = std::make_unique<recording::Writer>(place.fd, place.identity, max_bytes_, !own_table_);
  if (last_ns_ != 0) writer_->KeepLast(last_ns_);
  identity_ = place.identity;
  steering.OnOrder(recording::ReadControl(place_));
  place_known_.store(true, std::memory_order_release);
  return true;
}

void* Collector::WriterMain(void* self) {
  static_cast<Collector*>(self)->WriterLoop();
  return nullptr;
}

void* Collector::FlusherMain(void* self) {
  static_cast<Collector*>(self)->FlusherLoop();
  return nullptr;
}

// ---- The writer thread: everything that goes to the file goes through it. ----

void Collector::WriterLoop() {
  ActivityDecoder decoder(&api);
  bool open = false;
  try {
    open = OpenRecording();
  } catch (const std::bad_alloc&) {
    reason_ = "no memory";
  }
  uint64_t seen = 0;
  uint64_t last_write_ns = 0;
  for (bool first = true;; first = false) {
    // The first time at once: whose recording it is stands in the file from the beginning.
    if (!first) writer_signal_.WaitBeyond(seen, FlushEveryMsAt(NowNs(CLOCK_MONOTONIC)));
    seen = writer_signal_.count();
    const uint64_t wanted = write_wanted_.load(std::memory_order_acquire);
    const bool finish = finish_.load(std::memory_order_acquire);
    const uint64_t now = NowNs(CLOCK_MONOTONIC);
    const bool asked = wanted != write_done_.load(std::memory_order_relaxed) || finish;
    const bool due = first || now - last_write_ns >= FlushEveryMsAt(now) * 1000000;
    try {
      const bool write = asked || due || definitions.waiting_bytes() >= kWakeAtBytes;
      // Before the buffers: where the clock of a flush stands in the file, all that the flush
      // brought does.
      if (write) definitions.Take(&taken_);
      TakeBuffers(decoder, open);
      if (write) {
        last_write_ns = now;
        WriteRows(decoder, finish, open);
      }
    } catch (const std::bad_alloc&) {
      // The row is lost and counted; the program may find memory again, and so may we.
      CountAllocationFailure();
    }
    if (!asked) continue;
    launches_ = decoder.counts().kernels + decoder.counts().graph_rows;
    if (open && writer_->failed()) {
      const Lock lock(&error_mutex_);
      stopped_ = "recording stopped early: " + writer_->StopReason();
    }
    failed_to_open_.store(!open, std::memory_order_release);
    write_done_.store(wanted, std::memory_order_release);
    written_signal_.Notify();
    if (finish) return;
  }
}

void Collector::TakeBuffers(ActivityDecoder& decoder, bool open) {
  ActivityBuffers::Buffer buffer;
  while (buffers.Take(&buffer)) {
    try {
      // A skipped call is told before its activities are there.
      if (open && steering.EverClosed()) {
        DrainLogs(*writer_);
        decoder.SetSkipped(&skipped_calls_);
      }
      if (open) {
        decoder.Decode(buffer, *writer_);
        WatchLimit();
      }
    } catch (const std::bad_alloc&) {
      CountAllocationFailure();
    }
    buffers.Recycle(buffer);
  }
}

void Collector::DrainLogs(recording::Writer& writer) {
  // Calls that are recorded need to be told only once some are not. Those that are not, always: the
  // window may close while this runs.
  const bool keep = steering.EverClosed();
  for (ThreadLog* log = ThreadLog::First(); log != nullptr; log = log->Next()) {
    counts_.api_calls += log->Drain(writer, &skipped_calls_, keep);
    std::string before;
    if (const uint32_t thread = log->TakeNewThread(&before); thread != 0) {
      // What the program itself says (NVTX) tells more.
      if (named_threads_.count(thread) != 0) continue;
      const std::string now = ThreadName(thread);
      const std::string& name = now.empty() ? before : now;
      if (!name.empty()) writer.Add(recording::ThreadRow{thread, name});
    }
  }
}

// The limit is the job's: now and then each process looks at what all have written. Also between
// two buffers: after a while without the processor there are many.
void Collector::WatchLimit() {
  const uint64_t often = std::min(recording::kSegmentBytes, max_bytes_ / 8);
  if (writer_->bytes_written() < limit_looked_at_ + often) return;
  limit_looked_at_ = writer_->bytes_written();
  const uint64_t all = JobBytes(place_, identity_);
  const uint64_t left = max_bytes_ - std::min(max_bytes_, all);
  writer_->set_max_file_bytes(
      writer_->bytes_written() + left,
      "the job's recording has reached its limit of " + std::to_string(max_bytes_) + " bytes");
}

// Where the window opened and closed, and when work ran that is left out, as marks.
void Collector::TellWindow(ActivityDecoder& decoder, recording::Writer& writer) {
  for (const ActivityDecoder::Interval& interval : decoder.TakeOutside()) {
    recording::RangeRow row;
    row.domain = strings.Intern("xlatrace");
    row.text = strings.Intern("outside from");
    row.start_ns = row.end_ns = interval.start_ns;
    writer.Add(row);
    row.text = strings.Intern("outside until");
    row.start_ns = row.end_ns = interval.end_ns;
    writer.Add(row);
  }
  for (const Steering::Changed& changed : steering.TakeChanges()) {
    recording::RangeRow row;
    row.domain = strings.Intern("xlatrace");
    row.text = strings.Intern(changed.change == Steering::Change::kOpened   ? "window opened"
                              : changed.change == Steering::Change::kClosed ? "window closed"
                                                                            : "window anew");
    row.start_ns = row.end_ns = changed.time_ns;
    writer.Add(row);
  }
  // The marks' own texts go with them.
  definitions.Take(&taken_);
  for (const Definition& definition : taken_) {
    if (std::holds_alternative<recording::ClockRow>(definition)) {
      held_clocks_.push_back(definition);
    } else {
      Write(definition, writer);
    }
  }
  taken_.clear();
}

// How the process ends, when it says so itself: the last word counts, since an exec may fail.
void Collector::TellHow(recording::Writer& writer) {
  const int how = end_how_.load(std::memory_order_acquire);
  if (how == told_how_ || how == XLATRACE_END_MAYBE) return;
  told_how_ = how;
  const std::string word = how == XLATRACE_END_EXEC    ? "exec"
                           : how == XLATRACE_END_EXIT  ? "exit"
                           : how == XLATRACE_END_ABORT ? "abort"
                           : how >= 128                ? "signal " + std::to_string(how - 128)
                                                       : "";
  writer.Add(recording::FactRow{"ended", word});
}

void Collector::WriteRows(ActivityDecoder& decoder, bool finish, bool open) {
  if (!open) return;
  recording::Writer& writer = *writer_;
  const auto write = [&](const Definition& definition) {
    Write(definition, writer);
    if (const auto* named = std::get_if<Owned<recording::ThreadRow>>(&definition)) {
      named_threads_.insert(named->row.thread);
    }
  };
  for (const Definition& clock : held_clocks_) write(clock);
  held_clocks_.clear();
  for (const Definition& definition : taken_) write(definition);
  taken_.clear();
  DrainLogs(writer);
  // What rows refer to that came meanwhile, in the buffers or in the logs.
  definitions.Take(&taken_);
  for (const Definition& definition : taken_) {
    if (std::holds_alternative<recording::ClockRow>(definition)) {
      held_clocks_.push_back(definition);
    } else {
      write(definition);
    }
  }
  taken_.clear();
  WatchLimit();
  uint64_t callbacks_ns = 0;
  for (ThreadLog* log = ThreadLog::First(); log != nullptr; log = log->Next()) {
    callbacks_ns += log->cost_ns();
  }
  const auto stat = [&](std::string_view name, uint64_t value) {
    writer.Add(recording::StatRow{name, value});
  };
  const DecodeCounts& counts = decoder.counts();
  stat("kernels", counts.kernels);
  stat("copies", counts.copies);
  stat("memsets", counts.memsets);
  stat("graph_rows", counts.graph_rows);
  stat("api_calls", counts_.api_calls);
  stat("captured_calls", captured_calls.load(std::memory_order_relaxed));
  stat("buffers_completed", buffers.completed());
  stat("buffers_refused", buffers.refused());
  stat("buffer_bytes_mapped", buffers.mapped_bytes());
  stat("records_dropped", dropped_.load(std::memory_order_relaxed));
  stat("records_invalid_time", counts.invalid_time);
  stat("records_unknown", counts.unknown);
  stat("records_short", counts.too_short);
  stat("buffers_cut", counts.cut_buffers);
  stat("pops_unbalanced", pops_unbalanced.load(std::memory_order_relaxed));
  stat("ranges_too_deep", ranges_too_deep.load(std::memory_order_relaxed));
  stat("strings_registered", strings.registered());
  stat("strings_cut", strings.cut());
  stat("strings_not_kept", definitions.dropped_texts());
  stat("activities_outside_window", counts.outside_window);
  stat("cost_callbacks_ns", callbacks_ns);
  stat("cost_writer_ns", NowNs(CLOCK_THREAD_CPUTIME_ID));
  stat("cost_flusher_ns", flusher_cost_ns_.load(std::memory_order_relaxed));
  stat("flush_timeouts", flush_timeouts_.load(std::memory_order_relaxed));
  stat("allocation_failures", allocation_failures_.load(std::memory_order_relaxed));
  stat("rows_lost", writer.lost_rows() + ThreadLog::rows_lost());
  if (writer.failed()) stat("write_errno", static_cast<uint64_t>(writer.stop_errno()));
  TellWindow(decoder, writer);
  TellHow(writer);
  if (!finish) {
    writer.Flush();
    return;
  }
  for (size_t kind = 0; kind < ActivityDecoder::kKinds; ++kind) {
    if (decoder.record_bytes(kind) == 0) continue;
    const std::string key = "record_size." + std::to_string(kind);
    const std::string value = std::to_string(decoder.record_bytes(kind));
    writer.Add(recording::FactRow{key, value});
  }
  writer.Finish();
}

// ---- The flusher thread: the only one that waits for CUPTI. ----

void Collector::FlusherLoop() {
  uint64_t seen = 0;
  const auto every_ns = [this](uint64_t now_ns) { return FlushEveryMsAt(now_ns) * 1000000; };
  uint64_t next_ns = opened_ns_ + every_ns(opened_ns_);
  for (;;) {
    const uint64_t now = NowNs(CLOCK_MONOTONIC);
    const uint64_t left_ms = next_ns > now ? (next_ns - now) / 1000000 + 1 : 0;
    flusher_signal_.WaitBeyond(seen, steering.Tick(now, left_ms));
    const uint64_t begin = NowNs(CLOCK_MONOTONIC);
    steering.Tick(begin, FlushEveryMs());
    // Steps are counted by what runs: nobody knows beforehand when they begin.
    tensorflow_ops.Follow(steering.has_steps() || steering.State() == ProcessState::kRecording);
    seen = flusher_signal_.count();
    const uint64_t wanted = flush_wanted_.load(std::memory_order_acquire);
    const bool final = final_flush_.load(std::memory_order_acquire);
    if (CuptiIsOn()) {
      // Forced only at the very end: it gives up records of kernels that still run.
      api.cuptiActivityFlushAll(final ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
      size_t dropped = 0;
      if (api.Dropped(&dropped) == CUPTI_SUCCESS) {
        dropped_.fetch_add(dropped, std::memory_order_relaxed);
      }
    }
    try {
      AskDriver();
      ObeyFolder();
    } catch (const std::bad_alloc&) {
      CountAllocationFailure();
    }
    flusher_cost_ns_.store(NowNs(CLOCK_THREAD_CPUTIME_ID), std::memory_order_relaxed);
    // From beginning to beginning; a CUPTI that takes long gets half of that in peace.
    next_ns = std::max(begin + every_ns(begin), NowNs(CLOCK_MONOTONIC) + every_ns(begin) / 2);
    flush_done_.store(wanted, std::memory_order_release);
    flushed_signal_.Notify();
    // What came back goes to the file now, not a period later.
    write_wanted_.fetch_add(1, std::memory_order_acq_rel);
    writer_signal_.Notify();
    if (!final) continue;
    if (end_how_.load(std::memory_order_acquire) == XLATRACE_END_ABORT) FinishForAbort();
    return;
  }
}

// What CUPTI and the driver tell when asked. They may use descriptors of the process, which the
// writer thread does not have.
void Collector::AskDriver() {
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

// `xlatrace control` writes an order into the folder; what became of it is told there.
void Collector::ObeyFolder() {
  if (!place_known_.load(std::memory_order_acquire)) return;
  const recording::ControlOrder order = recording::ReadControl(place_);
  if (order.number > order_) {
    order_ = order.number;
    steering.OnOrder(order);
  }
  const ProcessState state = steering.State();
  if (state == told_state_ && order_ == told_order_) return;
  told_state_ = state;
  told_order_ = order_;
  TellJob(place_, recording::FormatState(identity_, order_, state));
}

}  // namespace xlatrace::collector
