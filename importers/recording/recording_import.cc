// SPDX-License-Identifier: Apache-2.0
#include "importers/recording/recording_import.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/number_format.h"
#include "importers/common/compile_stage.h"
#include "importers/common/counters.h"
#include "importers/common/kept_calls.h"
#include "importers/common/self_time.h"
#include "importers/common/text_fields.h"
#include "importers/recording/recorded_names.h"
#include "importers/recording/recorded_process.h"
#include "importers/recording/recorded_stats.h"
#include "importers/recording/recorded_windows.h"
#include "importers/recording/step_edges.h"
#include "importers/recording/window_not_reached.h"
#include "recording/folder.h"
#include "recording/reader.h"

namespace xlatrace::importers {
namespace {

using model::Evidence;
using model::Severity;
using recording::BlockType;
using recording::RowKind;

constexpr uint64_t kLatestNs = kLatestRecordedNs;

class RecordingImporter {
 public:
  RecordingImporter(const std::string& path, bool live, model::EventSink& sink)
      : path_(path),
        live_(live),
        sink_(sink),
        counters_(std::filesystem::path(path).filename().string()),
        names_(process_, sink, counters_),
        windows_(process_) {}

  Result<RecordingImport> Run() {
    XLATRACE_ASSIGN(outcome_, recording::ReadRecording(path_, process_));
    process_.Finish();
    SetClock();
    names_.AddProcess(RecordedFrom());
    names_.AddDevices();
    XLATRACE_TRY(edges_.Read(path_, outcome_.bytes_read, process_));
    AddSteps();
    CallPass calls(*this);
    XLATRACE_TRY(recording::ReadRecording(path_, calls, outcome_.bytes_read));
    names_.AddModules();
    names_.AddCollectiveOps();
    ActivityPass activities(*this);
    XLATRACE_TRY(recording::ReadRecording(path_, activities, outcome_.bytes_read));
    for (const auto& [device, interval] : edges_.devices()) windows_.Extend(interval);
    found_ = windows_.Finish(
        outcome_, live_, names_.process_id(), [this](uint64_t ns) { return TimeOf(ns); }, sink_);
    AddLossesOfEnds();
    AddRunInfo();
    AddStats();
    counters_.Flush(sink_);
    const auto cost = [&](const char* name) {
      const auto stat = process_.stats.find(name);
      return stat == process_.stats.end() || stat->second > kLatestNs
                 ? int64_t{0}
                 : static_cast<int64_t>(stat->second);
    };
    return RecordingImport{
        .bytes = outcome_.bytes_read,
        .complete = outcome_.complete,
        .damaged = outcome_.damaged_blocks + outcome_.missing_blocks > 0,
        .activities = activities_,
        .ending = found_.ending,
        .missing_at_least = found_.calls_without_activity + found_.graph_nodes_missing,
        .own_cost_ns = cost("cost_writer_ns") + cost("cost_flusher_ns") + cost("cost_callbacks_ns"),
        .command = std::string(process_.Fact("command")),
        .process_id = names_.process_id(),
        .has_modules = names_.has_modules(),
        .dump_folder = std::string(process_.Fact("dump_folder")),
        .window = activities_ == 0 ? WindowNotReached(process_) : std::string(),
        .errors = process_.errors};
  }

 private:
  struct CallPass final : recording::RowSink {
    explicit CallPass(RecordingImporter& owner) : import(owner) {}
    bool Accepts(BlockType type) const override { return type == BlockType::kApiCalls; }
    void OnApiCall(const recording::ApiCallRow& row) override { import.OnApiCall(row); }
    RecordingImporter& import;
  };
  struct ActivityPass final : recording::RowSink {
    explicit ActivityPass(RecordingImporter& owner) : import(owner) {}
    bool Accepts(BlockType type) const override {
      return type == BlockType::kActivities || type == BlockType::kRanges;
    }
    void OnSegment(uint64_t, std::string_view) override { import.names_.StartSegment(); }
    void OnActivity(const recording::ActivityRow& row, const recording::ConfigRow& config,
                    const recording::LaneRow& lane) override {
      import.OnActivity(row, config, lane);
    }
    void OnRange(const recording::RangeRow& row) override { import.OnRange(row); }
    RecordingImporter& import;
  };

  void SetClock() {
    const std::optional<int64_t> told = process_.IntFact("start_unix_ns");
    int64_t start = told && *told > 0 ? *told : 0;
    if (start == 0 && process_.first_ns < kLatestNs)
      start = static_cast<int64_t>(process_.first_ns);
    if (!sink_.start_unix_ns() && start > 0) sink_.SetStart(start);
    start_ns_ = sink_.start_unix_ns().value_or(0);
  }

  // Nothing if the collector's window was closed at first, or if a ring may have lost the
  // beginning. A pause comes after recorded work.
  std::optional<int64_t> RecordedFrom() const {
    const std::optional<int64_t> start = process_.IntFact("start_unix_ns");
    const bool pauses =
        process_.first_activity_ns != 0 && process_.first_activity_ns < process_.first_closed_ns;
    const bool open_at_first = process_.opened_ns.empty() || pauses;
    if (!start || *start <= 0 || !open_at_first || process_.ring) return std::nullopt;
    return TimeOf(static_cast<uint64_t>(*start));
  }

  int64_t TimeOf(uint64_t ns) const { return static_cast<int64_t>(ns) - start_ns_; }

  uint32_t AddApiCall(const recording::ApiCallRow& row) {
    uint64_t start = row.start_ns;
    uint64_t end = row.end_ns;
    CheckTimes("call_times_invalid", &start, &end);
    return static_cast<uint32_t>(sink_.AddApiCall({.process_id = names_.process_id(),
                                                   .thread_id = row.thread,
                                                   .name = names_.FunctionName(row),
                                                   .correlation_id = row.correlation,
                                                   .start_ns = TimeOf(start),
                                                   .end_ns = TimeOf(end)}));
  }

  void OnApiCall(const recording::ApiCallRow& row) {
    if (row.thunk != 0) names_.SeeThunk(row.thunk, row.start_ns);
    RecordedLaunch* launch = process_.launches.Find(row.correlation);
    if (BeforeSteps(row) || OutsideSteps(row, launch)) {
      if (launch != nullptr) launch->call = RecordedLaunch::kLeftOutIndex;
      return;
    }
    windows_.OnCall(row);
    if (launch == nullptr) {  // Where the host waits for the device, nothing is started.
      if (IsWait(names_.FunctionName(row))) {
        AddApiCall(row);
      } else if (row.result == 0 && !row.starts_nothing && !LetGo(row)) {  // A failed one neither.
        windows_.OnLostCall(row);
      }
      return;
    }
    if (launch->call != 0) return;  // A driver call inside a runtime call: the same launch.
    launch->call = AddApiCall(row);
    launch->thunk = row.thunk;
    if (row.module_run != 0) {
      launch->run = process_.RunIndex(row.module_run);
      uint32_t& title = process_.runs[launch->run - 1];
      // The run's own range was lost (a killed process, a damaged block).
      if (title == 0) title = names_.ModuleTitleOf(row.thunk);
    }
    const auto graph = process_.graph_launch_ns.find(row.correlation);
    if (graph != process_.graph_launch_ns.end()) graph->second = row.start_ns;
  }

  // True for a call in a window of steps, before its module was known to be a step.
  bool BeforeSteps(const recording::ApiCallRow& call) const {
    return call.start_ns < process_.anew_ns && !process_.Fact("steps").empty() &&
           !process_.Fact("steps").starts_with("0:");
  }

  // Recorded because devices lag behind the program (collector/steering.h).
  bool OutsideSteps(const recording::ApiCallRow& call, const RecordedLaunch* launch) const {
    if (call.start_ns < edges_.begin_call_ns()) return true;
    if (!edges_.cut()) return false;
    return launch != nullptr ? launch->call == RecordedLaunch::kLeftOutIndex
                             : !edges_.InsideHost(call.start_ns);
  }

  // A ring forgets what is oldest: an activity may have gone, and its call, written after it, not
  // yet.
  bool LetGo(const recording::ApiCallRow& call) const {
    return process_.ring && call.start_ns < process_.first_activity_ns;
  }

  // Keeps rows of impossible times, as instants.
  void CheckTimes(std::string_view counter, uint64_t* start, uint64_t* end) {
    if (*start != 0 && *end >= *start && *end <= kLatestNs) return;
    counters_.Add(counter, Severity::kDataLoss, 1,
                  "rows without a valid time are kept with a duration of 0");
    uint64_t instant = std::max(*start, *end);
    if (instant == 0 || instant > kLatestNs) instant = std::min(last_time_ns_, kLatestNs);
    if (instant == 0) instant = static_cast<uint64_t>(start_ns_);
    *start = *end = instant;
  }

  // Times that CUPTI did not give, or that cannot be right, are unknown. A start without an end is
  // kept: the activity was still running at the last flush of CUPTI.
  void SetTimes(const recording::ActivityRow& row, model::Activity* activity) {
    const auto possible = [](uint64_t ns) { return ns != 0 && ns <= kLatestNs; };
    uint64_t start = row.start_ns;
    uint64_t end = row.end_ns;
    if (!possible(start) || !possible(end) || end < start) {
      activity->timing =
          possible(start) && end == 0 ? model::Timing::kStartOnly : model::Timing::kUnknown;
      if (activity->timing == model::Timing::kStartOnly) {
        ++activities_without_end_;
      } else {
        ++activities_without_times_;
        // A place in the order: behind the one before in the file.
        start = last_time_ns_ != 0 ? last_time_ns_ : static_cast<uint64_t>(start_ns_);
      }
      end = start;
    }
    last_time_ns_ = end;
    activity->start_ns = TimeOf(start);
    activity->end_ns = TimeOf(end);
  }

  // A stream runs one kernel after the other. So where one without an end is followed by one with
  // an end, a forced flush took the end while the first one ran.
  void NoteEnd(const model::Activity& activity) {
    const auto lane = static_cast<size_t>(activity.lane_id);
    if (lane >= without_end_.size()) without_end_.resize(lane + 1);
    if (activity.timing == model::Timing::kStartOnly) {
      WithoutEnd& before = without_end_[lane];
      if (before.count++ == 0) before.first_start_ns = activity.start_ns;
      before.first_start_ns = std::min(before.first_start_ns, activity.start_ns);
      before.start_ns = std::max(before.start_ns, activity.start_ns);
    } else if (activity.timing == model::Timing::kKnown &&
               activity.start_ns > without_end_[lane].start_ns) {
      // Threads that launch on one stream have buffers of their own, in any order.
      const WithoutEnd before = std::exchange(without_end_[lane], {});
      if (before.count == 0) return;
      ends_taken_ += before.count;
      // The stream was busy for an unknown time before the next activity.
      ends_taken_at_.push_back(
          {.start_ns = before.first_start_ns, .end_ns = activity.start_ns, .cause = "end_taken"});
    }
  }

  void OnActivity(const recording::ActivityRow& row, const recording::ConfigRow& config,
                  const recording::LaneRow& lane) {
    const RecordedLaunch* launch =
        row.correlation == 0 ? nullptr : process_.launches.Find(row.correlation);
    if (launch != nullptr && launch->call == RecordedLaunch::kLeftOutIndex) {
      if (!edges_.cut()) ++activities_before_steps_;
      return;
    }
    if (launch == nullptr && !edges_.Inside(lane.device, row.start_ns)) return;
    model::Activity activity;
    activity.config_id = names_.ConfigOf(row.config, config);
    activity.lane_id = names_.LaneOf(row.lane, lane);
    SetTimes(row, &activity);
    NoteEnd(activity);
    if (activity.timing == model::Timing::kKnown) {
      activity.self_ns = self_times_.Next(activity.lane_id, activity.start_ns, activity.end_ns);
    }
    activity.correlation_id = row.correlation;
    activity.graph_id = row.graph;
    activity.graph_node_id = static_cast<int64_t>(row.graph_node);
    if (row.kind != RowKind::kKernel && row.kind != RowKind::kGraph) {
      activity.bytes = static_cast<int64_t>(std::min<uint64_t>(row.bytes, kLatestNs));
    }
    Relate(row, &activity);
    windows_.OnActivity(row, activity.lane_id, launch == nullptr ? 0 : launch->run);
    sink_.AddActivity(activity);
    ++activities_;
  }

  // Adds the facts of the launching thread.
  void Relate(const recording::ActivityRow& row, model::Activity* activity) {
    const RecordedLaunch* launch =
        row.correlation == 0 ? nullptr : process_.launches.Find(row.correlation);
    const bool called = launch != nullptr && launch->call != 0;
    if (!called) ++activities_without_call_;
    uint32_t thunk = called ? launch->thunk : 0;
    uint32_t title = 0;
    Evidence evidence = Evidence::kRange;
    if (called) {
      activity->api_call_id = launch->call;
      if (launch->run != 0) {
        activity->run_key = (names_.process_id() << 32) + launch->run;
        title = process_.runs[launch->run - 1];
      }
    }
    if (row.graph_node != 0) {
      evidence = Evidence::kGraphNode;
      // Without its call: a node was made before it ran.
      uint64_t time = std::max(row.start_ns, row.end_ns);
      const auto launched = process_.graph_launch_ns.find(row.correlation);
      if (called && launched != process_.graph_launch_ns.end()) time = launched->second;
      const GraphNodes::Found node = process_.nodes.At(row.graph_node, time, thunk);
      thunk = node.thunk;
      if (title == 0) title = node.module;
      if (thunk == 0) ++nodes_unknown_;
    }
    if (!called && thunk == 0 && title == 0) return;  // The open ranges are unknown.
    activity->hint_id = names_.HintOf(thunk, title, evidence);
  }

  // Steps that the program marks (xlatrace.h), or that a window of steps counted: each lasts until
  // the next one.
  void AddSteps() {
    const std::string_view asked = process_.Fact("steps");
    const size_t colon = asked.find(':');
    const auto steps_end =
        colon == std::string_view::npos ? std::nullopt : ParseInt(asked.substr(colon + 1));
    for (size_t i = 0; i < process_.steps.size(); ++i) {
      const auto& [time, number] = process_.steps[i];
      const uint64_t next = i + 1 < process_.steps.size() ? process_.steps[i + 1].first
                                                          : std::max(process_.last_ns, time);
      if (time == 0 || next > kLatestNs) continue;
      // The step after a window of steps is marked as the end of the last one.
      if (steps_end && number >= *steps_end) continue;
      sink_.AddStepMark({.process_id = names_.process_id(),
                         .number = number,
                         .start_ns = TimeOf(time),
                         .end_ns = TimeOf(next)});
    }
  }

  void OnRange(const recording::RangeRow& row) {
    uint64_t start = row.start_ns;
    uint64_t end = row.end_ns;
    if (end == 0) {  // Open when the recording ended.
      end = std::max(start, process_.last_ns);
      counters_.Add("range_not_finished", Severity::kInfo);
    }
    CheckTimes("range_times_invalid", &start, &end);
    const std::string_view text = process_.strings.Text(row.text);
    // Marks for recorded_windows.h and step_edges.h.
    if (process_.strings.Text(row.domain) == "xlatrace" &&
        (text.starts_with("outside ") || text.starts_with("first run ") ||
         text.starts_with("next run "))) {
      return;
    }
    // Work of the compiler is kept in any case.
    if (edges_.cut() && (!text.starts_with("Xla") || text.starts_with("XlaModule:")) &&
        (start >= edges_.until_ns() || (end != 0 && end < edges_.host_from_ns()))) {
      return;
    }
    if (text.empty()) counters_.Add("range_without_text", Severity::kInfo);
    sink_.AddRange({.process_id = names_.process_id(),
                    .thread_id = row.thread,
                    .domain = process_.strings.Text(row.domain),
                    .text = text,
                    .start_ns = TimeOf(start),
                    .end_ns = TimeOf(end),
                    .depth = static_cast<int32_t>(std::min<uint32_t>(row.depth, 1 << 20))});
    AddCompile(text, TimeOf(start), TimeOf(end));
  }

  void AddCompile(std::string_view text, int64_t start_ns, int64_t end_ns) {
    const std::optional<CompilerRange> range = CompilerRangeOf(text);
    if (!range) return;
    sink_.AddCompile({.process_id = names_.process_id(),
                      .module_id = names_.ModuleNamed(range->module, range->program_id),
                      .name = range->name,
                      .start_ns = start_ns,
                      .end_ns = end_ns,
                      .stage = range->stage});
  }

  void AddRunInfo() {
    sink_.SetRunInfo("source", "recording");
    const auto set = [&](std::string_view key, std::string_view fact) {
      if (!process_.Fact(fact).empty()) sink_.SetRunInfo(key, process_.Fact(fact));
    };
    set("host", "host");
    set("command", "command");
    set("mode", "mode");
    set("cupti_version", "cupti_version");
    set("cupti_interface", "cupti_interface");
    set("cupti_path", "cupti_path");
    set("beside_profiler", "beside_profiler");
    set("collector_version", "tool_version");
    if (const auto driver = process_.IntFact("driver_version"); driver && *driver >= 1000) {
      sink_.SetRunInfo("cuda", fmt::format("{}.{}", *driver / 1000, *driver % 1000 / 10));
    }
    set("driver", "nvidia_driver_version");
    for (const char* key : {"jaxlib_version", "tensorflow_version", "xla_flags"}) set(key, key);
    set("recorded_steps", "steps");
    set("recorded_delay_ms", "delay_ms");
    set("recorded_duration_ms", "duration_ms");
    set("recorded_last_ms", "last_ms");
    set("graphs", "graphs");
    // The program's names of its devices; for XLA, the number of each device in the job.
    constexpr std::string_view kDeviceName = "device_name.";
    for (auto it = process_.facts.lower_bound(kDeviceName);
         it != process_.facts.end() && it->first.starts_with(kDeviceName); ++it) {
      const std::string host_and_pid =
          fmt::format("{}.{}", process_.Fact("host"), process_.Fact("pid"));
      sink_.SetRunInfo(
          fmt::format("device_name.{}.{}", host_and_pid, it->first.substr(kDeviceName.size())),
          it->second);
    }
    if (!names_.gpu_names().empty()) sink_.SetRunInfo("gpu", names_.gpu_names());
    if (activities_ > 0) {
      sink_.SetRunInfo("granularity", model::Text(model::Granularity::kKernel));
    }
  }

  void AddStats() {
    AddRecordedStats(process_, &counters_);
    for (const std::string& error : process_.errors) {
      counters_.Add("collector: " + error.substr(0, 300), Severity::kError, 1,
                    "error of the collector in this process; xlatrace doctor checks the set-up");
    }
    for (const std::string& note : process_.notes) {
      counters_.Add("collector_note: " + note.substr(0, 300), Severity::kNotice, 1);
    }
    AddDamageStats();
    AddMissingStats();
    AddFrameworkStats();
    AddActivityStats();
  }

  // Parts of the file that cannot be read.
  void AddDamageStats() {
    if (outcome_.damaged_blocks > 0) {
      counters_.Add("recording_damaged", Severity::kDataLoss,
                    static_cast<int64_t>(outcome_.damaged_blocks),
                    fmt::format("places in the recording that cannot be read, {} of {} bytes "
                                "({}%), the first at byte {}; the rest was used",
                                Thousands(static_cast<int64_t>(outcome_.damaged_bytes)),
                                Thousands(static_cast<int64_t>(outcome_.file_bytes)),
                                Percent(static_cast<double>(outcome_.damaged_bytes),
                                        static_cast<double>(outcome_.file_bytes)),
                                Thousands(static_cast<int64_t>(outcome_.first_damage_offset))));
    }
    if (outcome_.unnamed_rows > 0) {
      counters_.Add("recording_rows_unnamed", Severity::kDataLoss,
                    static_cast<int64_t>(outcome_.unnamed_rows),
                    "kernels and copies without name or stream, because a part of the recording "
                    "cannot be read; they were left out");
    }
    if (outcome_.missing_blocks > 0) {
      counters_.Add("recording_blocks_missing", Severity::kDataLoss,
                    static_cast<int64_t>(outcome_.missing_blocks),
                    "blocks of rows that were written are not in the file");
    }
    if (outcome_.unknown_blocks > 0) {
      counters_.Add("recording_blocks_unknown", Severity::kNotice,
                    static_cast<int64_t>(outcome_.unknown_blocks),
                    "a newer collector wrote rows that this xlatrace does not know");
    }
  }

  // Work that ran and is not recorded.
  void AddMissingStats() {
    if (live_) {
      counters_.Add("process_still_running", Severity::kNotice, 1,
                    "this is a part of the run; repeat the command later for the rest");
    } else if (found_.ending.unrecorded_from_ns && outcome_.damaged_blocks == 0) {
      counters_.Add(
          "process_killed", Severity::kNotice, 1,
          "the process ended without closing its recording; the view process has the time "
          "from which work may be missing, and the possible number of records");
    }
    // Losses for which CUPTI reports a dropped record are already counted.
    const int64_t missing = std::max<int64_t>(
        found_.calls_without_activity + found_.graph_nodes_missing - found_.counted_elsewhere, 0);
    if (missing > 0) {
      counters_.Add("launch_without_activity", Severity::kDataLoss, missing,
                    "device work that was started, but no record of it");
    }
    if (found_.graph_nodes_doubtful > 0) {
      counters_.Add("graph_nodes_perhaps_missing", Severity::kDataLoss, found_.graph_nodes_doubtful,
                    "nodes of CUDA graphs that other launches of the same graph ran: their records "
                    "are missing, unless the program had disabled them");
    }
  }

  bool IsForcedByUs() const {
    const auto forced = process_.stats.find("forced_flushes");
    return forced != process_.stats.end() && forced->second > 0;
  }

  // A window ends where a forced flush took ends.
  void AddLossesOfEnds() {
    for (model::Loss& loss : ends_taken_at_) {
      loss.process_id = names_.process_id();
      sink_.AddLoss(loss);
    }
  }

  // Records that the program's framework or mode leaves out.
  void AddFrameworkStats() {
    if (!process_.Fact("own_profile").empty()) {
      counters_.Add(
          "own_profile_without_gpu", Severity::kNotice, 1,
          "the program profiled itself, too: that profile has no GPU in it, because CUPTI "
          "serves one profiler at a time below CUDA 13.3; run it without xlatrace for it");
    }
    // If the user switched it off, no notice is needed.
    if (process_.Fact("tensorflow_ops") == "missing") {
      counters_.Add("tensorflow_ops_unannounced", Severity::kNotice, 1,
                    "this build of TensorFlow has no switch for the names of its ops, so its work "
                    "outside of XLA is not attributed; TensorFlow 2.17 to 2.21 of PyPI have it");
    }
    if (process_.Fact("mode") == "light" && !process_.Fact("xla").empty() &&
        process_.Fact("dump_folder").empty()) {
      counters_.Add("modules_unknown", Severity::kNotice, 1,
                    "light mode records no text of modules: set XLATRACE_DUMP=on, or record with "
                    "--dump on, so that kernels lead back to instructions; of this run, import the "
                    "recording again with --modules DIR where XLA dumped");
    }
  }

  // Facts about recorded activities that are not known.
  void AddActivityStats() {
    if (const std::string why = WindowNotReached(process_); activities_ == 0 && !why.empty()) {
      counters_.Add("window_not_reached", Severity::kNotice, 1, why);
    }
    if (activities_before_steps_ > 0) {
      counters_.Add("activities_before_steps", Severity::kInfo, activities_before_steps_);
    }
    if (activities_without_times_ > 0) {
      counters_.Add("activity_times_unknown", Severity::kDataLoss, activities_without_times_,
                    "CUPTI gave no valid times: they are NULL, and in no sum");
    }
    if (ends_taken_ > 0 && !IsForcedByUs()) {
      counters_.Add("activity_end_taken", Severity::kDataLoss, ends_taken_,
                    "a forced flush of another profiler came while these activities ran: their end "
                    "is NULL");
      activities_without_end_ -= ends_taken_;
    }
    if (activities_without_end_ > 0) {
      counters_.Add("activity_end_unknown", Severity::kNotice, activities_without_end_,
                    "still running when CUPTI was queried last: their end is NULL");
    }
    if (activities_without_call_ > 0) {
      counters_.Add("activity_without_call", Severity::kInfo, activities_without_call_);
    }
    // In light mode no node has a range, so no notice is needed.
    if (nodes_unknown_ > 0 && process_.Fact("mode") != "light") {
      counters_.Add("graph_node_unknown", Severity::kNotice, nodes_unknown_,
                    "activities of CUDA graphs whose node was made outside of any XLA range");
    }
    if (names_.thunks_in_other_run() > 0) {
      counters_.Add("thunk_in_run_of_other_module", Severity::kNotice, names_.thunks_in_other_run(),
                    "launches under a thunk of another module than the run around it");
    }
    if (process_.strings.cut() > 0) {
      counters_.Add("string_cut", Severity::kInfo, process_.strings.cut());
    }
  }

  const std::string& path_;
  const bool live_;
  model::EventSink& sink_;
  Counters counters_;
  RecordedProcess process_;
  RecordedNames names_;
  RecordedWindows windows_;
  StepEdges edges_;
  StreamSelfTime self_times_;
  recording::ReadOutcome outcome_;
  int64_t start_ns_ = 0;  // Start of the sink's clock.
  uint64_t last_time_ns_ = 0;
  int64_t activities_ = 0;
  int64_t activities_without_times_ = 0;
  int64_t activities_without_end_ = 0;
  struct WithoutEnd {
    int64_t count = 0;
    int64_t start_ns = std::numeric_limits<int64_t>::min();  // The latest.
    int64_t first_start_ns = 0;
  };
  std::vector<WithoutEnd> without_end_;  // By lane id: since its last activity with an end.
  int64_t ends_taken_ = 0;
  std::vector<model::Loss> ends_taken_at_;  // In the sink's time.
  int64_t activities_before_steps_ = 0;
  RecordedWindows::Summary found_;
  int64_t activities_without_call_ = 0;
  int64_t nodes_unknown_ = 0;
};

}  // namespace

Result<RecordingImport> ImportRecording(const std::string& path, bool live,
                                        model::EventSink& sink) {
  return RecordingImporter(path, live, sink).Run();
}

Status ImportRecordingFolder(const std::string& path, model::EventSink& sink) {
  XLATRACE_ASSIGN(const recording::Folder folder, recording::ListFolder(path));
  if (folder.recordings.empty()) {
    return MakeError(fmt::format("'{}' holds no recording", path));
  }
  const std::string& token = folder.recordings.back().token;
  int64_t read = 0;
  Error first;
  for (const recording::FolderEntry& entry : folder.recordings) {
    if (entry.token != token) continue;
    auto imported = ImportRecording(entry.path, entry.live, sink);
    if (imported) {
      ++read;
      continue;
    }
    if (first.message.empty()) first = imported.error();
    sink.AddRunStat({.name = "input_skipped",
                     .severity = Severity::kDataLoss,
                     .source = std::filesystem::path(entry.path).filename().string(),
                     .value = 1,
                     .advice = imported.error().message});
  }
  if (read == 0) return tl::unexpected<Error>(std::move(first));
  return {};
}

}  // namespace xlatrace::importers
