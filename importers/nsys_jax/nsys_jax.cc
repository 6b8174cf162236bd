// SPDX-License-Identifier: Apache-2.0
#include "importers/nsys_jax/nsys_jax.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/file.h"
#include "importers/common/annotation.h"
#include "importers/common/compile_stage.h"
#include "importers/common/counters.h"
#include "importers/common/text_fields.h"
#include "importers/nsys_jax/capture_files.h"
#include "importers/nsys_jax/capture_machine.h"
#include "importers/nsys_jax/capture_modules.h"
#include "importers/nsys_jax/projected_trace.h"
#include "importers/nsys_jax/range_tree.h"

namespace xlatrace::importers {
namespace {

namespace fs = std::filesystem;
using model::Severity;

constexpr int64_t kLatestNs = INT64_MAX / 4;

class CaptureImport {
 public:
  CaptureImport(const std::string& path, model::EventSink& sink)
      : path_(path), sink_(sink), counters_(path) {}

  Status Run() {
    XLATRACE_ASSIGN(CaptureFiles files, ReadCaptureFiles(path_));
    XLATRACE_ASSIGN(const std::unique_ptr<ProjectedTrace> trace,
                    ReadProjectedTrace(std::move(files.projected_trace)));
    ranges_ = &trace->ranges;
    machine_ = ReadCaptureMachine(files);
    tree_.emplace(trace->ranges);
    AddProcesses();
    // A dump does not name its process; captures are made per process.
    AddDumpedModules(files, process_of_.begin()->second, sink_);
    AddActivities();
    AddHostRanges(files);
    Finish();
    return {};
  }

 private:
  void AddProcesses() {
    // Which threads launch, per process.
    std::map<int64_t, std::set<int64_t>> threads;
    for (size_t i = 0; i < ranges_->size(); ++i) {
      const ProjectedRange& range = (*ranges_)[i];
      if (tree_->KindOf(i) != RangeKind::kOther) threads[range.pid].insert(range.tid);
    }
    if (threads.empty() && !ranges_->empty()) threads[ranges_->front().pid];
    for (const auto& [pid, tids] : threads) {
      model::Process process;
      process.pid = pid;
      if (threads.size() == 1) process.rank = machine_.rank;
      process_of_[pid] = sink_.AddProcess(process);
      int64_t next = 0;
      for (const int64_t tid : tids) {
        const auto named = machine_.local_of_thread.find(tid);
        const bool is_main = tid == pid;
        ordinal_of_[{pid, tid}] = named != machine_.local_of_thread.end() ? named->second
                                  : is_main                               ? 0
                                                                          : next++;
      }
    }
  }

  model::Id LaneOf(const ProjectedRange& range) {
    model::Id& lane = lanes_[{range.pid, range.tid}];
    if (lane != 0) return lane;
    const auto known = ordinal_of_.find({range.pid, range.tid});
    const int64_t ordinal = known == ordinal_of_.end() ? 0 : known->second;
    model::Id& device = devices_[{range.pid, ordinal}];
    if (device == 0) {
      model::Device row = machine_.DeviceOf(ordinal);
      row.process_id = process_of_[range.pid];
      row.kind = model::DeviceKind::kGpu;
      row.ordinal = ordinal;
      if (!row.name.empty()) sink_.SetRunInfo("gpu", row.name);
      device = sink_.AddDevice(row);
    }
    lane = sink_.AddLane({.device_id = device,
                          .stream_id = range.tid,
                          .name = fmt::format("launched by thread {}", range.tid)});
    return lane;
  }

  bool TimeOf(const ProjectedRange& range, int64_t* start, int64_t* end) {
    if (!range.start_ns || !range.duration_ns || *range.duration_ns < 0 ||
        *range.start_ns < -kLatestNs || *range.start_ns > kLatestNs ||
        *range.duration_ns > kLatestNs) {
      counters_.Add("event_time_invalid", Severity::kDataLoss, 1,
                    "rows with impossible times were left out");
      return false;
    }
    *start = *range.start_ns;
    *end = *start + *range.duration_ns;
    return true;
  }

  void AddActivities() {
    const std::vector<int64_t> nested = tree_->NestedTimes();
    const std::vector<int64_t> own_operations = tree_->OwnOperations();
    // In the order of launch: what happened on the host decides.
    std::vector<size_t> order;
    for (size_t i = 0; i < ranges_->size(); ++i) {
      const ProjectedRange& range = (*ranges_)[i];
      if (range.name.empty()) {
        counters_.Add("projected_operations_outside_ranges", Severity::kNotice, range.gpu_ops,
                      "GPU operations launched outside all ranges; the capture holds no times of "
                      "them");
        continue;
      }
      const bool is_work =
          tree_->KindOf(i) == RangeKind::kThunk ||
          (tree_->KindOf(i) == RangeKind::kOther && !tree_->HasChild(i) && range.gpu_ops > 0 &&
           tree_->Around(i, RangeKind::kThunk) == kNoRowIndex &&
           tree_->Around(i, RangeKind::kModule) == kNoRowIndex);
      if (is_work) {
        order.push_back(i);
      } else if (tree_->KindOf(i) == RangeKind::kOther) {
        counters_.Add("projected_range_not_kept", Severity::kInfo);
      }
    }
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return (*ranges_)[a].host_start_ns.value_or(0) < (*ranges_)[b].host_start_ns.value_or(0);
    });
    for (const size_t i : order) {
      const ProjectedRange& range = (*ranges_)[i];
      model::Activity activity;
      if (!TimeOf(range, &activity.start_ns, &activity.end_ns)) continue;
      activity.lane_id = LaneOf(range);
      if (nested[i] > 0) {
        activity.self_ns = std::max<int64_t>(0, *range.duration_ns - nested[i]);
        if (own_operations[i] <= 0) {
          counters_.Add("loop_time_without_operations_ns", Severity::kInfo, activity.self_ns,
                        "between the ops of these loops no GPU operation of their own ran: it is "
                        "idle time, which their ranges cover");
        }
      }
      const size_t module = tree_->Around(i, RangeKind::kModule);
      activity.config_id = ConfigOf(i);
      activity.hint_id = tree_->KindOf(i) == RangeKind::kThunk ? HintOf(i, module) : 0;
      if (module != kNoRowIndex) {
        activity.run_key = (process_of_[range.pid] << 32) + static_cast<int64_t>(module) + 1;
      }
      sink_.AddActivity(activity);
      ++activities_;
    }
  }

  model::Id ConfigOf(size_t row) {
    const std::string_view text = SplitDomain((*ranges_)[row].name).text;
    model::Id& id = configs_[std::string(text)];
    if (id != 0) return id;
    model::LaunchConfig config;
    config.kind = model::ActivityKind::kRange;
    const Annotation annotation = ParseAnnotation(text);
    config.symbol = std::string(annotation.Get("hlo_op"));
    if (tree_->KindOf(row) != RangeKind::kThunk || config.symbol.empty()) {
      config.symbol = std::string(text.substr(0, text.find(":#")));
    }
    config.name = config.symbol;
    id = sink_.AddLaunchConfig(config);
    return id;
  }

  model::Id HintOf(size_t row, size_t module_row) {
    const std::string_view text = SplitDomain((*ranges_)[row].name).text;
    const std::string_view module = module_row == kNoRowIndex
                                        ? std::string_view()
                                        : SplitDomain((*ranges_)[module_row].name).text;
    model::Id& id = hints_[{std::string(text), std::string(module)}];
    if (id != 0) return id;
    const Annotation thunk = ParseAnnotation(text);
    const Annotation around = ParseAnnotation(module);
    model::Hint hint;
    hint.evidence = model::Evidence::kRange;
    hint.instruction = std::string(thunk.Get("hlo_op"));
    hint.module_name = std::string(around.Get("hlo_module"));
    if (hint.module_name.empty()) hint.module_name = std::string(thunk.Get("hlo_module"));
    hint.program_id = ParseInt(around.Get("program_id"));
    hint.op_name = std::string(thunk.Get("name"));
    if (!hint.op_name.empty() && !around.Get("prefix").empty()) {
      hint.op_name.insert(0, std::string(around.Get("prefix")) + "/");
    }
    id = sink_.AddHint(hint);
    return id;
  }

  void AddHostRanges(const CaptureFiles& files) {
    const int64_t damaged =
        ForEachCsvRow(files.push_pop_trace, {"Start (ns)", "End (ns)", "Name", "PID", "TID", "Lvl"},
                      [&](const std::vector<std::string>& row) {
                        const auto start = ParseInt(row[0]);
                        const auto end = ParseInt(row[1]);
                        const auto process = process_of_.find(ParseInt(row[3]).value_or(-1));
                        if (!start || !end || *end < *start || *start < -kLatestNs ||
                            *end > kLatestNs || process == process_of_.end()) {
                          counters_.Add("host_range_not_kept", Severity::kInfo);
                          return;
                        }
                        const DomainAndText name = SplitDomain(row[2]);
                        sink_.AddRange({.process_id = process->second,
                                        .thread_id = ParseInt(row[4]).value_or(0),
                                        .domain = name.domain,
                                        .text = name.text,
                                        .start_ns = *start,
                                        .end_ns = *end,
                                        .depth = static_cast<int32_t>(std::clamp<int64_t>(
                                            ParseInt(row[5]).value_or(0), 0, 10000))});
                        if (const auto compile = CompilerRangeOf(name.text)) {
                          sink_.AddCompile({.process_id = process->second,
                                            .name = compile->SpanName(),
                                            .start_ns = *start,
                                            .end_ns = *end,
                                            .stage = compile->stage});
                        }
                      });
    if (damaged > 0) {
      counters_.Add("csv_row_damaged", Severity::kDataLoss, damaged,
                    "rows of the push-pop trace with too few or too many cells");
    }
  }

  void Finish() {
    sink_.SetRunInfo("source", "nsys_jax");
    if (activities_ > 0) {
      sink_.SetRunInfo("granularity", model::Text(model::Granularity::kRange));
    } else {
      counters_.Add("no_device_activity", Severity::kNotice, 1,
                    "the capture holds no range with GPU work: profile with nsys-jax");
    }
    if (sink_.start_unix_ns() || process_of_.begin()->second > 1) {
      counters_.Add("clock_not_known", Severity::kNotice, 1,
                    "this capture has no wall clock; its times cannot be placed beside the other "
                    "inputs of the run");
    }
    counters_.Flush(sink_);
  }

  const std::string& path_;
  model::EventSink& sink_;
  Counters counters_;
  const std::vector<ProjectedRange>* ranges_ = nullptr;
  CaptureMachine machine_;
  std::optional<RangeTree> tree_;
  // By pid; at least one, as a table without a range is refused.
  std::map<int64_t, model::Id> process_of_;
  std::map<std::pair<int64_t, int64_t>, int64_t> ordinal_of_;  // (pid, tid)
  std::map<std::pair<int64_t, int64_t>, model::Id> devices_;   // (pid, ordinal)
  std::map<std::pair<int64_t, int64_t>, model::Id> lanes_;     // (pid, tid)
  std::unordered_map<std::string, model::Id> configs_;
  std::map<std::pair<std::string, std::string>, model::Id> hints_;  // (thunk, module)
  int64_t activities_ = 0;
};

bool IsCaptureFolder(const fs::path& path) {
  std::error_code error;
  return fs::exists(path / "nvtx_gpu_proj_trace" / "trace.parquet", error) ||
         fs::exists(path / "derived" / "nvtx_gpu_proj_trace.csv.xz", error);
}

// Captures directly inside a folder: folders and zips.
std::vector<std::string> CapturesInside(const std::string& path) {
  std::vector<std::string> found;
  std::error_code error;
  for (auto it = fs::directory_iterator(path, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    if (it->is_directory(error) ? IsCaptureFolder(it->path()) : it->path().extension() == ".zip") {
      found.push_back(it->path().string());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

bool LooksLikeNsysJaxFolder(const std::string& path) {
  if (!IsDirectory(path)) return false;
  return IsCaptureFolder(path) || !CapturesInside(path).empty();
}

Status ImportNsysJax(const std::string& path, model::EventSink& sink) {
  if (!IsDirectory(path) || IsCaptureFolder(path)) {
    Status status = CaptureImport(path, sink).Run();
    if (!status) return Wrap(fmt::format("reading '{}'", path), std::move(status).error());
    return {};
  }
  Status first;
  bool any = false;
  for (const std::string& capture : CapturesInside(path)) {
    Status status = CaptureImport(capture, sink).Run();
    if (status) {
      any = true;
      continue;
    }
    sink.AddRunStat({.name = "input_skipped",
                     .severity = Severity::kDataLoss,
                     .source = capture,
                     .value = 1,
                     .advice = status.error().message});
    if (first) first = Wrap(fmt::format("reading '{}'", capture), std::move(status).error());
  }
  return any ? Status() : first;
}

}  // namespace xlatrace::importers
