// SPDX-License-Identifier: Apache-2.0
#include "collector/thread_log.h"

#include <pthread.h>
#include <unistd.h>

#include <cstring>
#include <new>

#include <sys/prctl.h>
#include <sys/syscall.h>

namespace xlatrace::collector {
namespace {

// Rows in flight over all threads: 64 MB. A writer that cannot keep up loses rows, counted.
constexpr int64_t kMaxChunks = 4096;

std::atomic<ThreadLog*> first_log{nullptr};
std::atomic<int64_t> chunks{0};
std::atomic<uint64_t> lost{0};
pthread_key_t key;
pthread_once_t key_once = PTHREAD_ONCE_INIT;

thread_local ThreadLog* current = nullptr;

}  // namespace

void ThreadLog::MakeKey() { pthread_key_create(&key, &ThreadLog::Release); }

ThreadLog* ThreadLog::First() { return first_log.load(std::memory_order_acquire); }
uint64_t ThreadLog::rows_lost() { return lost.load(std::memory_order_relaxed); }

ThreadLog* ThreadLog::Current() {
  if (current == nullptr) current = Acquire();
  return current;
}

ThreadLog* ThreadLog::Acquire() {
  pthread_once(&key_once, &ThreadLog::MakeKey);
  ThreadLog* log = nullptr;
  for (ThreadLog* free = First(); free != nullptr; free = free->next_) {
    bool expected = false;
    if (free->in_use_.compare_exchange_strong(expected, true, std::memory_order_acq_rel)) {
      log = free;
      break;
    }
  }
  if (log == nullptr) {
    log = new (std::nothrow) ThreadLog;
    if (log == nullptr) return nullptr;
    log->reading_ = log->writing_ = new (std::nothrow) Chunk;
    if (log->writing_ == nullptr) {
      delete log;
      return nullptr;
    }
    chunks.fetch_add(1, std::memory_order_relaxed);
    log->in_use_.store(true, std::memory_order_relaxed);
    log->next_ = first_log.load(std::memory_order_relaxed);
    while (!first_log.compare_exchange_weak(log->next_, log, std::memory_order_release)) {
    }
  }
  uint64_t name[2] = {};
  prctl(PR_GET_NAME, name);
  for (int i = 0; i < 2; ++i) log->name_[i].store(name[i], std::memory_order_relaxed);
  log->thread_.store(static_cast<uint32_t>(syscall(SYS_gettid)), std::memory_order_release);
  log->depth_ = log->too_deep_ = 0;
  log->thunk_ = log->module_ = 0;
  log->run_ = 0;
  log->calls_ = 0;
  log->pending_run_ = log->registering_ = 0;
  log->EndStep();
  log->captured_ = false;
  pthread_setspecific(key, log);
  return log;
}

void ThreadLog::Release(void* log) {
  // Rows that are not drained yet stay; a new thread goes on behind them.
  current = nullptr;
  static_cast<ThreadLog*>(log)->in_use_.store(false, std::memory_order_release);
}

void ThreadLog::Push(const OpenRange& range, uint64_t run) {
  if (depth_ == kMaxDepth) {
    ++too_deep_;
    return;
  }
  OpenRange& open = open_[depth_];
  open = range;
  open.outer_thunk = thunk_;
  open.outer_module = module_;
  open.outer_run = run_;
  runs_[depth_] = run;
  ++depth_;
  if (range.kind == RangeKind::kThunk) {
    thunk_ = range.text;
    ++thunks_in_run_;
  } else if (range.kind == RangeKind::kOp && module_ == 0) {
    thunk_ = range.text;
  } else if (range.kind == RangeKind::kModule) {
    module_ = range.text;
    run_ = run;
    thunk_ = 0;
    thunks_in_run_ = 0;
  }
}

uint32_t ThreadLog::TakeNewThread(std::string* name) {
  const uint32_t thread = thread_.load(std::memory_order_acquire);
  if (thread == thread_told_) return 0;
  uint64_t letters[2];
  for (int i = 0; i < 2; ++i) letters[i] = name_[i].load(std::memory_order_relaxed);
  char text[sizeof(letters) + 1] = "";
  std::memcpy(text, letters, sizeof(letters));
  // The next thread to use the log may have come meanwhile.
  *name = thread_.load(std::memory_order_acquire) == thread ? text : "";
  return thread_told_ = thread;
}

bool ThreadLog::Pop(const void* domain, OpenRange* popped, uint32_t* depth, uint64_t* run) {
  if (too_deep_ > 0) {
    --too_deep_;
    *popped = {};
    return true;
  }
  // NVTX keeps one stack per domain. The range to pop is almost always the innermost one.
  uint32_t at = depth_;
  while (at > 0 && open_[at - 1].domain != domain) --at;
  if (at == 0) return false;
  --at;
  *popped = open_[at];
  *depth = at;
  *run = runs_[at];
  if (at == depth_ - 1) {
    thunk_ = popped->outer_thunk;
    module_ = popped->outer_module;
    run_ = popped->outer_run;
    --depth_;
    return true;
  }
  for (uint32_t i = at; i + 1 < depth_; ++i) {
    open_[i] = open_[i + 1];
    runs_[i] = runs_[i + 1];
  }
  --depth_;
  Recompute();
  return true;
}

void ThreadLog::Recompute() {
  thunk_ = module_ = 0;
  run_ = 0;
  for (uint32_t i = 0; i < depth_; ++i) {
    open_[i].outer_thunk = thunk_;
    open_[i].outer_module = module_;
    open_[i].outer_run = run_;
    if (open_[i].kind == RangeKind::kThunk) {
      thunk_ = open_[i].text;
    } else if (open_[i].kind == RangeKind::kOp && module_ == 0) {
      thunk_ = open_[i].text;
    } else if (open_[i].kind == RangeKind::kModule) {
      module_ = open_[i].text;
      run_ = runs_[i];
      thunk_ = 0;
    }
  }
}

void ThreadLog::EnterCall(uint32_t correlation, uint64_t now_ns, bool skip) {
  if (calls_ == 0) captured_ = false;
  const bool inside = calls_ > 0;
  const bool nested = inside && call_[calls_ - 1].correlation == correlation;
  // A call inside another one goes with it.
  if (inside) skip = call_[calls_ - 1].skipped;
  if (skip && !nested) AppendSkipped(correlation);
  if (calls_ == kMaxCalls) return;
  call_[calls_] = {correlation, nested, skip, now_ns};
  ++calls_;
}

ThreadLog::CallEnd ThreadLog::LeaveCall(uint32_t correlation, uint64_t* start_ns) {
  uint32_t at = calls_;
  while (at > 0 && call_[at - 1].correlation != correlation) --at;
  if (at == 0) return CallEnd::kUnknown;
  calls_ = at - 1;
  if (call_[calls_].skipped) return CallEnd::kSkipped;
  if (call_[calls_].nested) return CallEnd::kNested;
  *start_ns = call_[calls_].start_ns;
  return captured_ ? CallEnd::kCaptured : CallEnd::kRecord;
}

LogRow* ThreadLog::NextRow() {
  uint32_t filled = writing_->filled.load(std::memory_order_relaxed);
  if (filled == kRowsPerChunk) {
    Chunk* fresh = nullptr;
    if (chunks.load(std::memory_order_relaxed) < kMaxChunks) fresh = new (std::nothrow) Chunk;
    if (fresh == nullptr) {
      lost.fetch_add(1, std::memory_order_relaxed);
      return nullptr;
    }
    chunks.fetch_add(1, std::memory_order_relaxed);
    writing_->next.store(fresh, std::memory_order_release);
    writing_ = fresh;
    filled = 0;
  }
  return &writing_->rows[filled];
}

void ThreadLog::Filled() {
  writing_->filled.store(writing_->filled.load(std::memory_order_relaxed) + 1,
                         std::memory_order_release);
}

void ThreadLog::Append(const recording::ApiCallRow& row) {
  LogRow* slot = NextRow();
  if (slot == nullptr) return;
  slot->kind = LogRow::Kind::kApi;
  slot->api = row;
  Filled();
}

void ThreadLog::Append(const recording::RangeRow& row) {
  LogRow* slot = NextRow();
  if (slot == nullptr) return;
  slot->kind = LogRow::Kind::kRange;
  slot->range = row;
  Filled();
}

void ThreadLog::AppendSkipped(uint32_t correlation) {
  LogRow* slot = NextRow();
  if (slot == nullptr) return;
  slot->kind = LogRow::Kind::kSkippedCall;
  slot->skipped = correlation;
  Filled();
}

uint64_t ThreadLog::Drain(recording::Writer& writer, SkippedCalls* calls, bool keep) {
  uint64_t api_calls = 0;
  for (;;) {
    const uint32_t filled = reading_->filled.load(std::memory_order_acquire);
    for (; read_ < filled; ++read_) {
      const LogRow& row = reading_->rows[read_];
      switch (row.kind) {
        case LogRow::Kind::kApi:
          if (calls != nullptr && keep) calls->Keep(row.api.correlation);
          writer.Add(row.api);
          ++api_calls;
          break;
        case LogRow::Kind::kRange:
          writer.Add(row.range);
          break;
        case LogRow::Kind::kSkippedCall:
          if (calls != nullptr) calls->Skip(row.skipped);
          keep = true;
          break;
      }
    }
    if (read_ < kRowsPerChunk) return api_calls;
    Chunk* next = reading_->next.load(std::memory_order_acquire);
    if (next == nullptr) return api_calls;
    delete reading_;
    chunks.fetch_sub(1, std::memory_order_relaxed);
    reading_ = next;
    read_ = 0;
  }
}

}  // namespace xlatrace::collector
