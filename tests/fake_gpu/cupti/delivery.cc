// SPDX-License-Identifier: Apache-2.0

// Records on their way: a line per thread, the tool's buffers, the worker that hands full ones
// back.
//
// As with CUPTI: a launching thread reserves the slot of each record when it issues the work, and
// requests a buffer if it needs one. The device completes the record. The worker hands back full
// buffers whose records are all complete. A plain flush also hands back partly filled ones, but
// none with an open slot. A forced flush hands back all, with records that have no end.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "cupti/faults.h"
#include "cupti/state.h"

namespace fakegpu::cupti {
namespace {

constexpr size_t kDrainAt = 64;  // waiting records, from which a launching thread writes them out

struct LineOwner {
  Line* line = nullptr;
  ~LineOwner() {
    if (line != nullptr) line->ended = true;
  }
};

Line* NewLine() {
  State& state = TheState();
  std::lock_guard guard(state.lines_lock);
  Line* line = nullptr;
  if (state.free_lines.empty()) {
    line = new Line;
  } else {
    line = state.free_lines.back();
    state.free_lines.pop_back();
    line->ended = false;
  }
  state.lines.push_back(line);
  return line;
}

Line& MyLine() {
  if (!TheState().per_thread.load(std::memory_order_relaxed)) {
    static Line* const shared = NewLine();
    return *shared;
  }
  static thread_local LineOwner owner;
  if (owner.line == nullptr) owner.line = NewLine();
  return *owner.line;
}

void Note(const std::string& text) {
  if (TheState().gpu != nullptr) TheState().gpu->note(("CUPTI: " + text).c_str());
}

// ---- the tool's buffers ----

Buffer* Request() {
  State& state = TheState();
  const auto request = state.request.load(std::memory_order_acquire);
  const auto request_v2 = state.request_v2.load(std::memory_order_acquire);
  if (request == nullptr && request_v2 == nullptr) return nullptr;
  uint8_t* data = nullptr;
  size_t size = 0, room = 0;
  if (request_v2 != nullptr) {
    BufferInfoV2 info;
    info.size = sizeof info.size;
    request_v2(&data, &size, &room, &info);
  } else {
    request(&data, &size, &room);
  }
  if (data == nullptr || size == 0) {
    // Before CUDA 12.9 a tool that gave none crashed the process.
    if (data == nullptr && ApiVersion() < 27) {
      Note("bufferRequested gave no buffer, which crashes this release");
      std::abort();
    }
    return nullptr;
  }
  if (reinterpret_cast<uintptr_t>(data) % 8 != 0) Note("misuse: buffer is not aligned to 8 bytes");
  if (!state.zeroed) std::memset(data, 0, size);
  {
    std::lock_guard guard(state.delivery_lock);
    if (!state.out.insert(data).second) Note("misuse: a buffer that is out already");
  }
  auto* buffer = new Buffer;
  buffer->data = data;
  buffer->size = size;
  buffer->room = room;
  return buffer;
}

void Complete(Buffer* buffer) {
  static std::atomic<uint64_t> number{0};
  State& state = TheState();
  const Span& drop = TheFaults().drop_buffers;
  if (drop.first != 0 && drop.Holds(++number)) {
    if (drop.counted) state.dropped += buffer->records;
    buffer->used = 0;
  }
  {
    std::lock_guard guard(state.delivery_lock);
    state.out.erase(buffer->data);
  }
  const auto complete = state.complete.load(std::memory_order_acquire);
  if (const auto second = state.complete_v2.load(std::memory_order_acquire)) {
    BufferInfoV2 info;
    info.size = sizeof info;
    second(buffer->data, buffer->size, buffer->used, &info);
  } else if (complete != nullptr) {
    complete(nullptr, 0, buffer->data, buffer->size, buffer->used);
  }
  delete buffer;
}

void PutFull(Buffer* buffer) {
  State& state = TheState();
  std::lock_guard guard(state.delivery_lock);
  state.full.push_back(buffer);
  state.delivery.notify_all();
}

// Caller holds delivery_lock. The next buffer to hand back, or null when none may be now.
Buffer* NextFull(State& state, bool flushing) {
  const Faults& faults = TheFaults();
  if (state.full.empty() || faults.hold_until_exit) return nullptr;
  if (faults.shuffle > 1) {
    // Whole groups only, except in a flush; the last of a group first.
    const size_t group = std::min<size_t>(faults.shuffle, state.full.size());
    if (group < faults.shuffle && !flushing) return nullptr;
    static size_t left = 0;
    if (left == 0) {
      std::reverse(state.full.begin(), state.full.begin() + static_cast<long>(group));
      left = group;
    }
    --left;
  }
  Buffer* next = state.full.front();
  state.full.pop_front();
  return next;
}

// Hands back full buffers; in a flush also waits for those that the worker is handing back.
void DeliverFull(bool flushing) {
  State& state = TheState();
  std::unique_lock guard(state.delivery_lock);
  while (Buffer* buffer = NextFull(state, flushing)) {
    if (!flushing && state.stopped) {
      state.full.push_front(buffer);
      break;
    }
    ++state.delivering;
    guard.unlock();
    Complete(buffer);
    guard.lock();
    --state.delivering;
    state.delivery.notify_all();
  }
  if (flushing) state.delivery.wait(guard, [&] { return state.delivering == 0; });
}

// ---- writing ----

void Write(Line& line, const Record& record);

bool IsZero(const uint8_t* at, size_t size) {
  for (size_t i = 0; i + 8 <= size; i += 8) {
    uint64_t word;
    std::memcpy(&word, at + i, 8);
    if (word != 0) return false;
  }
  return true;
}

// Caller holds the line's lock. No more records go into the line's buffer.
void CloseBuffer(Line& line) {
  Buffer* buffer = std::exchange(line.buffer, nullptr);
  if (buffer->open == 0) {
    PutFull(buffer);
  } else {
    line.filled.push_back(buffer);
  }
}

// Caller holds the line's lock. Reserves the slot of a record. False: the record is dropped.
bool Reserve(Line& line, Slot* slot) {
  State& state = TheState();
  const Record& record = slot->record;
  Buffer* buffer = line.buffer;
  if (buffer != nullptr && (buffer->size - buffer->used < record.size ||
                            (buffer->room != 0 && buffer->records == buffer->room))) {
    CloseBuffer(line);
    buffer = nullptr;
  }
  if (buffer == nullptr) {
    const Nanos before = Now();
    line.buffer = buffer = Request();
    if (buffer == nullptr || buffer->size < record.size) {
      ++state.dropped;
      return false;
    }
    if (state.kinds.Has(CUPTI_ACTIVITY_KIND_OVERHEAD) && buffer->size >= 4096 &&
        ApiVersion() >= 26 && record.kind != CUPTI_ACTIVITY_KIND_OVERHEAD) {
      Write(line, Overhead(CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST, before, Now(), 0));
      return Reserve(line, slot);
    }
  }
  slot->buffer = buffer;
  slot->at = buffer->used;
  const uint8_t* at = buffer->data + buffer->used;
  if (state.zeroed && !IsZero(at, record.size)) {
    static std::atomic<bool> told{false};
    if (!told.exchange(true)) Note("misuse: buffer is not zero, though the tool said so");
  }
  buffer->used += record.size;
  ++buffer->records;
  ++buffer->open;
  return true;
}

// Caller holds the line's lock. The record of a slot is complete.
void Fill(Line& line, Slot& slot) {
  if (slot.buffer == nullptr && !Reserve(line, &slot)) return;
  std::memcpy(slot.buffer->data + slot.at, slot.record.bytes, slot.record.size);
  --slot.buffer->open;
}

void Write(Line& line, const Record& record) {
  Slot slot{record};
  Fill(line, slot);
}

// Full buffers without an open slot go to the tool.
void PutFilled(Line& line) {
  std::erase_if(line.filled, [](Buffer* buffer) {
    if (buffer->open == 0) PutFull(buffer);
    return buffer->open == 0;
  });
}

// Completes what is ready, in order; `all`: also what is ready behind something that is not.
void Drain(Line& line, Nanos now, bool all) {
  while (!line.waiting.empty() && line.waiting.front().record.ready <= now) {
    Fill(line, line.waiting.front());
    line.waiting.pop_front();
  }
  if (all && !line.waiting.empty()) {
    std::deque<Slot> later;
    for (Slot& slot : line.waiting) {
      if (slot.record.ready <= now) {
        Fill(line, slot);
      } else {
        later.push_back(slot);
      }
    }
    line.waiting.swap(later);
  }
  PutFilled(line);
}

// Running work is delivered without an end, and is never reported again.
void Cut(Line& line, Nanos now) {
  for (Slot& slot : line.waiting) {
    Record& record = slot.record;
    Nanos start = 0;
    if (record.start_at != 0) std::memcpy(&start, record.bytes + record.start_at, sizeof start);
    if (start > Shown(now)) std::memset(record.bytes + record.start_at, 0, sizeof start);
    if (record.end_at != 0) std::memset(record.bytes + record.end_at, 0, sizeof(Nanos));
    Fill(line, slot);
  }
  line.waiting.clear();
  PutFilled(line);
}

void ShowTimes(Record* record) {
  for (const size_t place : {record->start_at, record->end_at}) {
    if (place == 0) continue;
    Nanos time;
    std::memcpy(&time, record->bytes + place, sizeof time);
    time = Shown(time);
    std::memcpy(record->bytes + place, &time, sizeof time);
  }
}

void Add(Record record) {
  const Nanos now = Now();
  if (TheFaults().clock_raw) ShowTimes(&record);
  record.ready += record.ready != 0 ? TheFaults().late_ns : 0;
  Line& line = MyLine();
  std::lock_guard guard(line.lock);
  const bool at_once = record.ready <= now;
  if (at_once || line.waiting.size() >= kDrainAt) Drain(line, now, false);
  if (at_once) {
    Write(line, record);
    return;
  }
  Slot slot{record};
  if (!TheFaults().slots_at_completion && !Reserve(line, &slot)) return;
  line.waiting.push_back(slot);
}

// Applies the scenario to device records. False: the record is removed, or kept for later.
bool Disturb(Record* record) {
  static std::atomic<uint64_t> next{0};
  const Faults& faults = TheFaults();
  State& state = TheState();
  const uint64_t number = ++next;
  if (faults.fatal_after != 0 && number > faults.fatal_after) {
    // CUPTI reports the error and finalises itself: all records come back, running work without an
    // end.
    if (!state.finished.exchange(true)) {
      Flush(true);
      TellState(CUPTI_CBID_STATE_FATAL_ERROR, CUPTI_ERROR_UNKNOWN, "the scenario wants it");
    }
    return false;
  }
  if (faults.others_flush_at == number) Flush(true);
  if (faults.unknown_before == number) {
    Record strange = *record;
    std::memset(strange.bytes, 0, sizeof strange.bytes);
    std::memcpy(strange.bytes, &faults.unknown_kind, sizeof faults.unknown_kind);
    strange.kind = faults.unknown_kind;
    strange.size = 64;
    strange.start_at = strange.end_at = strange.correlation_at = 0;
    Add(strange);
  }
  if (faults.drop_records.Holds(number)) {
    if (faults.drop_records.counted) ++state.dropped;
    return false;
  }
  if (faults.zero_times.Holds(number)) {
    std::memset(record->bytes + record->start_at, 0, sizeof(Nanos));
    std::memset(record->bytes + record->end_at, 0, sizeof(Nanos));
  }
  if (faults.unended.Holds(number)) std::memset(record->bytes + record->end_at, 0, sizeof(Nanos));
  if (faults.reversed_times.Holds(number)) {
    Nanos start, end;
    std::memcpy(&start, record->bytes + record->start_at, sizeof start);
    std::memcpy(&end, record->bytes + record->end_at, sizeof end);
    std::memcpy(record->bytes + record->start_at, &end, sizeof end);
    std::memcpy(record->bytes + record->end_at, &start, sizeof start);
  }
  if (faults.swap_correlation != 0) {
    static std::mutex* const lock = new std::mutex;
    static Record kept;
    std::lock_guard guard(*lock);
    if (number == faults.swap_correlation) {
      kept = *record;
      return false;
    }
    if (number == faults.swap_correlation + 1) {
      uint32_t first, second;
      std::memcpy(&first, kept.bytes + kept.correlation_at, sizeof first);
      std::memcpy(&second, record->bytes + record->correlation_at, sizeof second);
      std::memcpy(kept.bytes + kept.correlation_at, &second, sizeof second);
      std::memcpy(record->bytes + record->correlation_at, &first, sizeof first);
      Add(kept);
    }
  }
  if (const auto size = faults.sizes.find(record->kind); size != faults.sizes.end()) {
    record->size = std::min<uint16_t>(size->second, kLargestRecord);
  }
  return true;
}

// Delivers the remaining records of threads that have ended, then removes the lines of the threads.
void SweepEnded() {
  State& state = TheState();
  std::vector<Line*> gone;
  {
    std::lock_guard guard(state.lines_lock);
    for (Line* line : state.lines) {
      if (line->ended) gone.push_back(line);
    }
  }
  for (Line* line : gone) {
    std::unique_lock guard(line->lock);
    Drain(*line, Now(), true);
    if (!line->waiting.empty()) continue;
    if (line->buffer != nullptr) CloseBuffer(*line);
    guard.unlock();
    std::lock_guard all(state.lines_lock);
    // Not deleted, because another thread may be flushing it: the next new thread gets it.
    std::erase(state.lines, line);
    state.free_lines.push_back(line);
  }
}

// Full buffers whose last slot has become complete since.
void CollectFilled() {
  State& state = TheState();
  std::vector<Line*> lines;
  {
    std::lock_guard guard(state.lines_lock);
    lines = state.lines;
  }
  for (Line* line : lines) {
    std::lock_guard guard(line->lock);
    if (!line->filled.empty()) Drain(*line, Now(), true);
  }
}

// CUPTI's exit handler: from here on the worker hands nothing back.
void StopWorker() {
  State& state = TheState();
  if (state.owner != getpid()) return;
  std::unique_lock guard(state.delivery_lock);
  state.stopped = true;
  state.delivery.notify_all();
  state.delivery.wait(guard, [&] { return state.delivering == 0; });
}

void Work() {
  State& state = TheState();
  for (;;) {
    {
      std::unique_lock guard(state.delivery_lock);
      state.delivery.wait_for(guard, std::chrono::milliseconds(100),
                              [&] { return !state.full.empty() && !TheFaults().hold_until_exit; });
      if (state.stopped) return;
    }
    SweepEnded();
    CollectFilled();
    DeliverFull(false);
  }
}

// "hold until exit": the exit handlers have run; buffers come now, on a foreign thread.
__attribute__((destructor)) void DeliverAtExit() {
  if (TheState().owner != getpid() || !TheFaults().hold_until_exit) return;
  std::thread([] {
    State& state = TheState();
    std::deque<Buffer*> held;
    {
      std::lock_guard guard(state.delivery_lock);
      held.swap(state.full);
    }
    for (Buffer* buffer : held) Complete(buffer);
  }).join();
}

}  // namespace

void Forget() {
  State& state = TheState();
  std::lock_guard all(state.lines_lock);
  for (Line* line : state.lines) {
    std::lock_guard guard(line->lock);
    line->waiting.clear();
    line->filled.clear();
    line->buffer = nullptr;  // the tool's memory, which the tool has lost
  }
  std::unique_lock guard(state.delivery_lock);
  state.full.clear();
  state.delivery.wait(guard, [&] { return state.delivering == 0; });
}

void Submit(Record record) {
  if (TheState().finished) return;
  if (record.started_counts && TheFaults().any_record_fault && !Disturb(&record)) return;
  Add(record);
}

void Flush(bool forced) {
  State& state = TheState();
  const Nanos begin = Now();
  std::vector<Line*> lines;
  {
    std::lock_guard guard(state.lines_lock);
    lines = state.lines;
  }
  for (Line* line : lines) {
    std::lock_guard guard(line->lock);
    const Nanos now = Now();
    Drain(*line, now, true);
    if (forced) Cut(*line, now);
    // "It doesn't return buffers which have one or more incomplete records" (cupti_activity.h).
    if (line->buffer != nullptr && line->buffer->used != 0 && line->buffer->open == 0) {
      CloseBuffer(*line);
    }
  }
  DeliverFull(true);
  if (state.kinds.Has(CUPTI_ACTIVITY_KIND_OVERHEAD) && !forced && !lines.empty()) {
    Add(Overhead(CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH, begin, Now(), 0));
  }
}

void Reenter() {
  if (Buffer* buffer = Request()) Complete(buffer);
}

void StartWorker() {
  State& state = TheState();
  std::lock_guard guard(state.delivery_lock);
  if (state.worker) return;
  state.worker = true;
  // The program's signals are not for this thread.
  std::atexit(StopWorker);
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  std::thread(Work).detach();
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

}  // namespace fakegpu::cupti
