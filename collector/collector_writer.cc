// SPDX-License-Identifier: Apache-2.0

// The writer thread: everything that goes to the file goes through it.

#include <algorithm>
#include <new>
#include <string>

#include "collector/activity_decoder.h"
#include "collector/collector.h"
#include "collector/descriptors.h"
#include "collector/preload_abi.h"
#include "collector/process_facts.h"
#include "collector/recording_place.h"
#include "collector/thread_log.h"

namespace xlatrace::collector {
namespace {

// A flush that takes longer than the end of a process waits for it is taken to hang.
constexpr uint64_t kMaxFlushNs = 2900000000;
constexpr size_t kWakeAtBytes = 4 << 20;  // Definitions that wait wake the writer early.

}  // namespace

// Runs in the writer thread. If that thread can have its own table of descriptors, the file is
// independent of the program. If the program closes all descriptors, as daemons do, it does not end
// the recording. It cannot get our blocks into a file of its own either, and a forked child
// inherits nothing.
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

void Collector::WriterLoop() {
  ActivityDecoder decoder(&api);
  decoder.SetSteering(&steering);
  bool open = false;
  try {
    open = OpenRecording();
  } catch (const std::bad_alloc&) {
    reason_ = "no memory";
  }
  uint64_t last_write_ns = 0;
  for (bool first = true;; first = false) {
    // The first flush is immediate, so that the file has its identity from the beginning.
    if (!first) writes_wanted_.Sleep(FlushEveryMsAt(NowNs(CLOCK_MONOTONIC)));
    const WorkRequests::Work work = writes_wanted_.Next();
    const uint64_t now = NowNs(CLOCK_MONOTONIC);
    const bool asked = writes_wanted_.IsRequested(work);
    const bool due = first || now - last_write_ns >= FlushEveryMsAt(now) * 1000000;
    try {
      const bool write = asked || due || definitions.waiting_bytes() >= kWakeAtBytes;
      // Before the buffers, so that records of a flush precede its clock in the
      // file.
      if (write) definitions.Take(&taken_);
      const uint64_t whole_until_ns = whole_until_ns_.load(std::memory_order_acquire);
      TakeBuffers(decoder, open);
      if (write) {
        last_write_ns = now;
        WriteRows(decoder, whole_until_ns, work.last, open);
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
    writes_wanted_.Done(work);
    if (work.last) return;
  }
}

bool Collector::TakeIndexed(ActivityBuffers::Buffer* buffer, RecordIndex* index) {
  {
    const Lock lock(&indexed_mutex_);
    if (!indexed_.empty()) {
      *buffer = indexed_.front().buffer;
      *index = std::move(indexed_.front().index);
      indexed_.pop_front();
      return true;
    }
  }
  // A flush that hangs holds the flusher thread, which finds the records otherwise.
  const uint64_t began = flush_began_ns_.load(std::memory_order_relaxed);
  if (began == 0 || NowNs(CLOCK_MONOTONIC) - began < kMaxFlushNs || !buffers.Take(buffer)) {
    return false;
  }
  *index = ActivityDecoder::Index(api, *buffer);
  return true;
}

void Collector::TakeBuffers(ActivityDecoder& decoder, bool open) {
  decoder.SetClockOffset(clock_offset_ns_.load(std::memory_order_relaxed));
  ActivityBuffers::Buffer buffer;
  RecordIndex index;
  while (TakeIndexed(&buffer, &index)) {
    try {
      // The skipped call must be known before its activities are decoded.
      if (open && steering.EverClosed()) {
        DrainLogs(*writer_);
        decoder.SetSkipped(&skipped_calls_);
      }
      if (open) {
        decoder.Decode(buffer, index, *writer_);
        WatchLimit();
      }
    } catch (const std::bad_alloc&) {
      CountAllocationFailure();
    }
    buffers.Recycle(buffer);
  }
}

void Collector::DrainLogs(recording::Writer& writer) {
  // Recorded calls matter only after some were skipped. Skipped calls are always noted, because the
  // window may close while this runs.
  const bool keep = steering.EverClosed();
  for (ThreadLog* log = ThreadLog::First(); log != nullptr; log = log->Next()) {
    counts_.api_calls += log->Drain(writer, &skipped_calls_, keep);
    std::string before;
    if (const uint32_t thread = log->TakeNewThread(&before); thread != 0) {
      // A name from the program itself (NVTX) is more useful.
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
void Collector::WriteWindowState(ActivityDecoder& decoder, recording::Writer& writer) {
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

// Records how the process ends, if it calls an exit function. The last record counts, because an
// exec may fail.
void Collector::WriteEndCode(recording::Writer& writer) {
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

void Collector::WriteRows(ActivityDecoder& decoder, uint64_t whole_until_ns, bool finish,
                          bool open) {
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
  // Definitions that arrived meanwhile for rows in the buffers or in the logs.
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
  progress_.store(counts_.api_calls + counts.kernels + counts.copies + counts.memsets +
                      counts.graph_rows + counts.outside_window,
                  std::memory_order_relaxed);
  stat("kernels", counts.kernels);
  stat("copies", counts.copies);
  stat("memsets", counts.memsets);
  stat("graph_rows", counts.graph_rows);
  stat("api_calls", counts_.api_calls);
  stat("captured_calls", captured_calls.load(std::memory_order_relaxed));
  stat("buffers_completed", buffers.completed());
  stat("buffers_refused", buffers.refused());
  stat("buffer_bytes_mapped", buffers.most_mapped_bytes());
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
  if (steering.counts_steps()) {
    const Steering::Counted counted = steering.CountedSteps();
    stat("modules_run", counted.modules);
    stat("steps_run", counted.steps);
    stat("delay_pending", counted.before_delay ? 1 : 0);
  }
  stat("cost_callbacks_ns", callbacks_ns);
  stat("cost_writer_ns", NowNs(CLOCK_THREAD_CPUTIME_ID));
  stat("cost_flusher_ns", flusher_cost_ns_.load(std::memory_order_relaxed));
  stat("forced_flushes", forced_flushes_.load(std::memory_order_relaxed));
  stat("flushes", flushes_.load(std::memory_order_relaxed));
  stat("flush_timeouts", flush_timeouts_.load(std::memory_order_relaxed));
  stat("allocation_failures", allocation_failures_.load(std::memory_order_relaxed));
  stat("rows_lost", writer.lost_rows() + ThreadLog::rows_lost());
  // The file has the activities that ended before, if their calls are not in it without them. A
  // block of stats is written after those of activities and calls.
  if (whole_until_ns != 0) stat("whole_until_ns", whole_until_ns);
  if (writer.failed()) stat("write_errno", static_cast<uint64_t>(writer.stop_errno()));
  WriteWindowState(decoder, writer);
  WriteEndCode(writer);
  if (!finish) {
    writer.Flush();
    return;
  }
  for (size_t kind = 0; kind < ActivityDecoder::kKindCount; ++kind) {
    if (decoder.record_bytes(kind) == 0) continue;
    const std::string key = "record_size." + std::to_string(kind);
    const std::string value = std::to_string(decoder.record_bytes(kind));
    writer.Add(recording::FactRow{key, value});
  }
  writer.Finish();
}

}  // namespace xlatrace::collector
