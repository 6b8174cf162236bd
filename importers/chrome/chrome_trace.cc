// SPDX-License-Identifier: Apache-2.0
#include "importers/chrome/chrome_trace.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/compress.h"
#include "base/inflate_stream.h"
#include "importers/chrome/chrome_import.h"
#include "importers/chrome/run_metadata.h"
#include "importers/chrome/trace_splitter.h"
#include "importers/common/text_fields.h"
#include "importers/xplane/xplane.h"

namespace xlatrace::importers {
namespace {

using chrome::Import;
using model::Severity;

constexpr int64_t kLatestNs = INT64_MAX / 4;
constexpr int64_t kUnixNs = 100'000'000'000'000'000;  // 1973: what is larger is unix time.
constexpr size_t kMaxQueuedSliceCount = 8;

// A slice of events (key empty) or a member of the outer object.
struct Piece {
  std::string key;
  std::string bytes;
};

// Hands pieces from the thread that inflates to the one that parses; a few at most wait.
class PieceQueue {
 public:
  // False: the other side has stopped.
  bool Push(Piece piece) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopped_ || pieces_.size() < kMaxQueuedSliceCount; });
    if (stopped_) return false;
    pieces_.push_back(std::move(piece));
    changed_.notify_all();
    return true;
  }
  std::optional<Piece> Pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !pieces_.empty(); });
    if (pieces_.empty()) return std::nullopt;
    Piece piece = std::move(pieces_.front());
    pieces_.pop_front();
    changed_.notify_all();
    return piece;
  }
  void Close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  // A slice that was read: its memory serves the next one. Fresh pages for each cost as much as
  // inflating them.
  void Recycle(std::string bytes) {
    const std::lock_guard lock(mutex_);
    if (spare_.size() < 8) spare_.push_back(std::move(bytes));
  }
  std::string Spare() {
    const std::lock_guard lock(mutex_);
    if (spare_.empty()) return {};
    std::string bytes = std::move(spare_.back());
    spare_.pop_back();
    return bytes;
  }
  void Stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Piece> pieces_;
  std::vector<std::string> spare_;
  bool closed_ = false;
  bool stopped_ = false;
};

// Result of the reading thread.
struct ReadOutcome {
  Status status;
  bool found_events = false;
  bool truncated = false;
  bool has_more = false;
  int64_t oversized = 0;
};

void ReadPieces(InflateStream& stream, PieceQueue& queue, ReadOutcome& outcome) {
  bool wanted = true;
  TraceSplitter splitter({.events =
                              [&](std::string slice) {
                                wanted = wanted && queue.Push({{}, std::move(slice)});
                              },
                          .member =
                              [&](std::string key, std::string value) {
                                wanted = wanted && queue.Push({std::move(key), std::move(value)});
                              },
                          .spare = [&] { return queue.Spare(); }},
                         ChromeEventParser::Padding());
  std::string block(size_t{1} << 17, '\0');
  bool is_trace = true;
  while (wanted && is_trace) {
    const Result<size_t> got = stream.Read(block.data(), block.size());
    if (!got) {
      outcome.status = tl::unexpected<Error>(got.error());
      break;
    }
    if (*got == 0) break;
    is_trace = splitter.Feed(std::string_view(block).substr(0, *got));
  }
  splitter.Finish();
  outcome.found_events = splitter.found_events();
  outcome.truncated = splitter.truncated() || !is_trace;
  outcome.has_more = splitter.has_more();
  outcome.oversized = splitter.oversized();
  queue.Close();
}

// One number in a JSON text: "123", "\"123\"".
std::optional<int64_t> NumberOf(std::string_view json) {
  while (!json.empty() && (json.back() <= ' ' || json.back() == '"')) json.remove_suffix(1);
  while (!json.empty() && (json.front() <= ' ' || json.front() == '"')) json.remove_prefix(1);
  return ParseInt(json);
}

void ReadMember(const Piece& piece, chrome::TraceFacts& facts) {
  if (piece.key == "baseTimeNanoseconds") {
    facts.base_unix_ns = NumberOf(piece.bytes);
  } else if (piece.key == "deviceProperties") {
    facts.device_properties = piece.bytes;
  } else if (piece.key == "distributedInfo") {
    const nlohmann::json info = nlohmann::json::parse(piece.bytes, nullptr, false);
    if (info.is_object() && info.contains("rank") && info["rank"].is_number_integer()) {
      facts.rank = info["rank"].get<int64_t>();
      const auto world = info.find("world_size");
      if (world != info.end() && world->is_number_integer() && world->get<int64_t>() > 1) {
        facts.run_info.emplace_back("rank_of_job",
                                    fmt::format("{} of {}", *facts.rank, world->get<int64_t>()));
      }
    }
  } else if (piece.key == "cuda_driver_version" || piece.key == "cuda_runtime_version") {
    const auto number = NumberOf(piece.bytes);  // 12040 -> 12.4
    if (number && *number >= 1000 && *number < 1'000'000) {
      facts.run_info.emplace_back(piece.key == "cuda_runtime_version" ? "cuda" : "cuda_driver",
                                  fmt::format("{}.{}", *number / 1000, *number % 1000 / 10));
    }
  }
}

class TraceImport {
 public:
  TraceImport(const std::string& path, model::EventSink& sink) : import_(sink, path) {}

  void OnPiece(Piece& piece) {
    if (!piece.key.empty()) return ReadMember(piece, import_.facts);
    const int64_t lost =
        parser_.Parse(piece.bytes, [&](const ChromeEvent& event) { OnEvent(event); });
    if (lost > 0) {
      import_.counters.Add("event_damaged", Severity::kDataLoss, lost,
                           "these events are no JSON and were left out; copy the file again from "
                           "its source");
    }
  }

  // True if the file has events other than metadata events.
  bool found_events() const { return found_events_; }
  // Was there anything that took time?
  bool found_times() const { return import_.has_epoch; }

  void Finish(const ReadOutcome& outcome) {
    if (!dialect_) dialect_ = chrome::MakeKineto(import_);
    if (outcome.oversized > 0) {
      import_.counters.Add("event_oversized", Severity::kDataLoss, outcome.oversized,
                           "events of more than 16 MB were left out");
    }
    if (outcome.has_more) {
      import_.counters.Add("text_behind_trace", Severity::kDataLoss, 1,
                           "more follows the end of the JSON document and was left out: where it "
                           "is another trace, make it a file of its own");
    }
    if (outcome.truncated || !outcome.status) {
      import_.counters.Add(
          "trace_truncated", Severity::kDataLoss, 1,
          outcome.status ? "the file ends inside the trace; what came after is missing"
                         : outcome.status.error().message + "; what was read before is in the run");
    }
    const chrome::Placement placement = dialect_->Finish();
    if (outcome.truncated || !outcome.status) {
      import_.sink.SetEnding({.process_id = placement.process, .unrecorded_from_ns = INT64_MAX});
    }
    const int64_t shift = SetClock();
    for (model::StepMark& step : import_.steps) {
      step.process_id = placement.process;
      step.start_ns += shift;
      step.end_ns += shift;
      import_.sink.AddStepMark(step);
    }
    SetRunInfo();
    import_.rows.Flush(placement.process, placement.lanes, {shift, import_.epoch_ns}, import_.sink,
                       import_.counters);
    import_.counters.Flush(import_.sink);
  }

 private:
  void OnEvent(const ChromeEvent& event) {
    found_events_ |= event.phase != 'M';
    if (!dialect_) {
      // XProf and TensorFlow name their planes before anything else.
      const bool names_plane = event.phase == 'M' && event.name == "process_name";
      if (event.phase == 'M' && !names_plane) return;
      if (names_plane && event.label == "Allocators") return;  // The first one of TensorFlow.
      if (names_plane && chrome::IsTensorflowPlane(event.label)) {
        source_ = "tensorflow_timeline";
        dialect_ = chrome::MakeTensorflow(import_);
      } else if (names_plane &&
                 (event.label.starts_with("/device:") || event.label.starts_with("/host:"))) {
        source_ = "xprof_json";
        dialect_ = chrome::MakeXprof(import_);
      } else {
        dialect_ = chrome::MakeKineto(import_);
      }
    }
    dialect_->OnEvent(event);
  }

  // Returns the offset to add to the rows' times.
  int64_t SetClock() {
    const int64_t epoch = import_.epoch_ns;
    const int64_t base = import_.facts.base_unix_ns.value_or(0);
    int64_t start = 0;
    const bool has_clock =
        !__builtin_add_overflow(base, epoch, &start) && start >= kUnixNs && start <= kLatestNs;
    const std::optional<int64_t> sink_start = import_.sink.start_unix_ns();
    if (has_clock && !sink_start) import_.sink.SetStart(start);
    if (has_clock && sink_start) return start - *sink_start;
    if (!has_clock && sink_start) {
      import_.counters.Add("clock_not_known", Severity::kNotice, 1,
                           "this trace has no wall clock; its times cannot be placed beside the "
                           "other inputs of the run");
    }
    return 0;
  }

  void SetRunInfo() {
    import_.sink.SetRunInfo("source", source_);
    for (const auto& [key, value] : import_.facts.run_info) import_.sink.SetRunInfo(key, value);
    if (import_.replayed > 0 && import_.kernels == 0) {
      import_.counters.Add("kernels_not_timed", Severity::kDataLoss, 1,
                           "this trace replayed kernels to read counters and holds no times of "
                           "them: profile once more without CUPTI counters");
    }
    if (!import_.gpu_names.empty()) import_.sink.SetRunInfo("gpu", import_.gpu_names);
    if (import_.rows.activities() > 0) {
      import_.sink.SetRunInfo("granularity", model::Text(import_.kernels > 0 || import_.ops == 0
                                                             ? model::Granularity::kKernel
                                                             : model::Granularity::kOp));
    } else if (import_.replayed == 0) {
      import_.counters.Add("no_device_activity", Severity::kNotice, 1,
                           import_.mtia_events > 0
                               ? "the trace is of Meta's MTIA devices, whose events xlatrace does "
                                 "not read: the host's ranges are in the run"
                               : "the trace holds no device time: profile with activities for the "
                                 "device (PyTorch: ProfilerActivity.CUDA)");
    }
  }

  Import import_;
  ChromeEventParser parser_;
  std::unique_ptr<chrome::Dialect> dialect_;
  std::string_view source_ = "kineto";
  bool found_events_ = false;
};

}  // namespace

std::optional<Import::Interval> Import::TraceTime(const ChromeEvent& event) {
  const std::optional<Moment> start = ParseMicroseconds(event.start);
  const std::optional<Moment> duration =
      event.duration.empty() ? Moment{} : ParseMicroseconds(event.duration);
  Interval time;
  // Half the range, so that no sum below overflows.
  if (!start || !duration || duration->ns < 0 || start->ns < -kLatestNs || start->ns > kLatestNs ||
      duration->ns > kLatestNs) {
    counters.Add("event_time_invalid", Severity::kDataLoss, 1,
                 "events with impossible times were left out; the file may be damaged");
    return std::nullopt;
  }
  time.start_ns = start->ns;
  time.end_ns = time.start_ns + duration->ns + (start->ps + duration->ps >= 1000 ? 1 : 0);
  return time;
}

std::optional<Import::Interval> Import::Time(const ChromeEvent& event) {
  std::optional<Interval> time = TraceTime(event);
  if (!time) return std::nullopt;
  if (!has_epoch) {
    has_epoch = true;
    epoch_ns = time->start_ns;
  }
  time->start_ns -= epoch_ns;
  time->end_ns -= epoch_ns;
  return time;
}

void Import::AddRange(int64_t pid, int64_t tid, const Interval& time, std::string_view text) {
  constexpr size_t kMaxRanges = 4'000'000;
  if (rows.ranges() >= kMaxRanges) {
    counters.Add("host_range_over_limit", Severity::kNotice, 1,
                 "host ranges beyond the limit were left out; gaps late in the run may lack their "
                 "cause");
    return;
  }
  rows.Add(ChromeRange{time.start_ns, time.end_ns, rows.Thread(pid, tid), rows.Text(text)});
}

void Import::AddFrame(int64_t pid, int64_t tid, const Interval& time, std::string_view text) {
  constexpr size_t kMaxFrames = 2'000'000;  // Leaves memory for ranges of ops.
  if (rows.frames() >= kMaxFrames) {
    counters.Add("python_frame_over_limit", Severity::kNotice, 1,
                 "calls of Python functions beyond the limit were left out; places late in the run "
                 "may lack their line");
    return;
  }
  rows.Add(ChromeRange{.start_ns = time.start_ns,
                       .end_ns = time.end_ns,
                       .thread = rows.Thread(pid, tid),
                       .text = rows.Text(text),
                       .is_frame = true});
}

bool LooksLikeChromeTrace(std::string_view head) {
  if (head.starts_with("\xEF\xBB\xBF")) head.remove_prefix(3);
  const size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return false;
  head.remove_prefix(first);
  if (head.starts_with('{')) {
    const size_t key = head.find_first_not_of(" \t\r\n", 1);
    return key != std::string_view::npos && head[key] == '"';
  }
  if (!head.starts_with('[')) return false;
  const size_t event = head.find_first_not_of(" \t\r\n", 1);
  return event != std::string_view::npos && head[event] == '{' &&
         head.find("\"ph\"") != std::string_view::npos;
}

namespace {

// Held whole: such a file is of one step.
Status ImportRunMetadata(const std::string& path, model::EventSink& sink) {
  XLATRACE_ASSIGN(const std::string bytes, ReadFileInflated(path));
  auto events = TimelineOfRunMetadata(bytes);
  if (!events) return Wrap(fmt::format("reading '{}'", path), std::move(events).error());
  TraceImport import(path, sink);
  events->reserve(events->size() + ChromeEventParser::Padding());
  Piece piece{{}, std::move(*events)};
  import.OnPiece(piece);
  import.Finish({});
  return {};
}

Result<bool> IsRunMetadata(const std::string& path) {
  constexpr size_t kHeadBytes = 256;
  XLATRACE_ASSIGN(InflateStream stream, InflateStream::Open(path));
  std::string head(kHeadBytes, '\0');
  const Result<size_t> size = stream.Read(head.data(), head.size());
  return size && LooksLikeRunMetadata(std::string_view(head).substr(0, *size));
}

}  // namespace

Status ImportChromeTrace(const std::string& path, model::EventSink& sink) {
  XLATRACE_ASSIGN(const bool is_run_metadata, IsRunMetadata(path));
  if (is_run_metadata) return ImportRunMetadata(path, sink);
  XLATRACE_ASSIGN(InflateStream stream, InflateStream::Open(path));
  PieceQueue queue;
  ReadOutcome outcome;
  std::thread reader([&] { ReadPieces(stream, queue, outcome); });
  TraceImport import(path, sink);
  while (std::optional<Piece> piece = queue.Pop()) {
    import.OnPiece(*piece);
    if (piece->key.empty()) queue.Recycle(std::move(piece->bytes));
  }
  reader.join();
  if (!outcome.found_events) {
    XLATRACE_TRY(outcome.status);
    return MakeError(fmt::format("reading '{}': JSON, but no trace: it has no traceEvents", path),
                     "import what the profiler exported (PyTorch: prof.export_chrome_trace)");
  }
  // A bomb, or a file cut off in its first words: nothing to make a run of.
  if (!import.found_times()) XLATRACE_TRY(outcome.status);
  if (!import.found_events()) {
    return MakeError(fmt::format("reading '{}': a trace without any event", path),
                     "the profiler recorded nothing; check that something ran between its start "
                     "and its stop");
  }
  import.Finish(outcome);
  return {};
}

}  // namespace xlatrace::importers
