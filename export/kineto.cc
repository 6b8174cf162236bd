// SPDX-License-Identifier: Apache-2.0
#include "export/kineto.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/compress.h"
#include "base/file.h"
#include "export/export_format.h"
#include "export/json_text.h"
#include "export/lanes.h"
#include "export/open_calls.h"
#include "export/run_rows.h"
#include "model/words.h"

namespace xlatrace::exporter {
namespace {

using store::ScannedLaunch;

constexpr size_t kKinetoPieceBytes = size_t{1} << 20;
// Thread ids of further lanes of a stream lie so far apart.
constexpr int64_t kLaneTidOffset = 100'000'000;
constexpr int64_t kStepThreadId =
    1;  // Steps have a row of their own, because they end inside calls.

// Microseconds with three decimals.
void AppendTime(std::string& out, int64_t ns) {
  const bool negative = ns < 0;
  const auto size = negative ? uint64_t{0} - static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
  fmt::format_to(std::back_inserter(out), "{}{}.{:03}", negative ? "-" : "", size / 1000,
                 size % 1000);
}

std::string CopyName(std::string_view copy_kind) {
  if (copy_kind == "host_to_device") return "Memcpy HtoD";
  if (copy_kind == "device_to_host") return "Memcpy DtoH";
  if (copy_kind == "device_to_device") return "Memcpy DtoD";
  if (copy_kind == "peer_to_peer") return "Memcpy PtoP";
  if (copy_kind == "host_to_host") return "Memcpy HtoH";
  return "Memcpy";
}

// The events of one process.
struct Rank {
  int64_t rank = 0;
  size_t of = 1;
};

class KinetoWriter {
 public:
  KinetoWriter(const RunRows& run, int64_t process_id, Rank rank, int64_t shift_ns, bool gzip,
               AtomicFile& file)
      : run_(run),
        process_(At(run.processes(), process_id)),
        rank_(rank),
        shift_ns_(shift_ns),
        gzip_(gzip),
        file_(file) {
    pid_ = process_.pid.value_or(process_.process_id);
  }

  Status Begin() {
    buffer_ = fmt::format("{{\"schemaVersion\":1,\"baseTimeNanoseconds\":{},\"deviceProperties\":[",
                          run_.start_unix_ns() - shift_ns_);
    bool first = true;
    for (const DeviceFacts& device : run_.devices()) {
      if (device.process_id != process_.process_id || device.kind == "cpu") continue;
      buffer_ += fmt::format("{}{{\"id\":{},\"name\":{}", first ? "" : ",", OrdinalOf(device),
                             JsonText(device.name));
      if (device.memory_bytes) {
        buffer_ += fmt::format(",\"totalGlobalMem\":{}", *device.memory_bytes);
      }
      if (device.sm_count) buffer_ += fmt::format(",\"numSms\":{}", *device.sm_count);
      const size_t dot = device.compute_capability.find('.');
      if (dot != std::string::npos) {
        buffer_ += fmt::format(",\"computeMajor\":{},\"computeMinor\":{}",
                               device.compute_capability.substr(0, dot),
                               device.compute_capability.substr(dot + 1));
      }
      buffer_ += '}';
      first = false;
    }
    // HTA looks for "rank" with a blank behind the colon.
    buffer_ += fmt::format(
        "],\"distributedInfo\":{{\"backend\":\"nccl\",\"rank\": {},\"world_size\":{}}},"
        "\"displayTimeUnit\":\"ns\",\"xlatrace\":{},\"traceEvents\":[\n",
        rank_.rank, rank_.of, JsonText(XLATRACE_VERSION));
    buffer_ += fmt::format(
        "{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"tid\":0,\"args\":{{\"name\":{}}}}}",
        pid_, JsonText(run_.ProcessTitle(process_)));
    for (const DeviceFacts& device : run_.devices()) {
      if (device.process_id != process_.process_id) continue;
      buffer_ += fmt::format(
          ",\n{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"tid\":0,\"args\":{{\"name\":{}}"
          "}}}",
          OrdinalOf(device), JsonText(run_.DeviceTitle(device)));
    }
    return {};
  }

  // One mark per step; devices of a process have theirs at nearly the same time.
  Status AddSteps() {
    int64_t device = 0;
    for (const StepFacts& step : run_.steps()) {
      if (At(run_.devices(), step.device_id).process_id != process_.process_id) continue;
      if (device == 0) device = step.device_id;
      if (step.device_id != device) continue;
      XLATRACE_TRY(Add("user_annotation", fmt::format("ProfilerStep#{}", step.step), pid_,
                       kStepThreadId, step.start_ns, step.end_ns - step.start_ns, {}));
    }
    return {};
  }

  Status AddLaunch(const ScannedLaunch& launch) {
    const LaneFacts& lane = At(run_.lanes(), launch.lane_id);
    const DeviceFacts& device = At(run_.devices(), lane.device_id);
    const ConfigFacts& config = At(run_.configs(), launch.config_id);
    const model::Label& label = run_.LabelOf(launch.label_id);
    const model::InstructionRow* instruction = run_.InstructionOf(label);
    const bool on_host = device.kind == "cpu";
    const int64_t stream = lane.stream_id.value_or(0);
    const size_t number =
        lanes_[launch.lane_id].Place(launch.start_ns, launch.start_ns + launch.duration_ns,
                                     config.kind == "op" || config.kind == "range");
    std::string_view category = on_host ? "cpu_op" : "kernel";
    std::string name = config.name;
    if (config.kind == "memcpy") {
      category = "gpu_memcpy";
      // A page migration, whose kind of copy is unknown, has a name of its own.
      if (!name.starts_with("Migration")) name = CopyName(config.copy_kind);
    } else if (config.kind == "memset") {
      category = "gpu_memset";
      name = "Memset (Device)";
    }
    if (name.empty()) name = instruction != nullptr ? instruction->name : config.kind;
    arguments_.clear();
    if (!on_host) {
      fmt::format_to(std::back_inserter(arguments_), "\"device\":{},\"stream\":{}",
                     OrdinalOf(device), stream);
    }
    if (const int64_t correlation = CorrelationOf(launch); correlation != 0) {
      Separate();
      fmt::format_to(std::back_inserter(arguments_), "\"correlation\":{}", correlation);
    }
    if (launch.bytes) {
      Separate();
      fmt::format_to(std::back_inserter(arguments_), "\"bytes\":{}", *launch.bytes);
    }
    if (config.grid[0] && config.block[0]) {
      Separate();
      fmt::format_to(std::back_inserter(arguments_), "\"grid\":[{},{},{}],\"block\":[{},{},{}]",
                     *config.grid[0], config.grid[1].value_or(1), config.grid[2].value_or(1),
                     *config.block[0], config.block[1].value_or(1), config.block[2].value_or(1));
    }
    if (config.registers) {
      fmt::format_to(std::back_inserter(arguments_), ",\"registers per thread\":{}",
                     *config.registers);
    }
    if (config.occupancy_pct) {
      fmt::format_to(std::back_inserter(arguments_), ",\"est. achieved occupancy %\":{:.0f}",
                     *config.occupancy_pct);
    }
    if (launch.step) {
      Separate();
      fmt::format_to(std::back_inserter(arguments_), "\"step\":{}", *launch.step);
    }
    Separate();
    arguments_ += LabelArguments(launch.label_id, label, instruction);
    return Add(category, name, on_host ? pid_ : OrdinalOf(device),
               stream + static_cast<int64_t>(number) * kLaneTidOffset, launch.start_ns,
               launch.duration_ns, arguments_);
  }

  Status AddCall(const HostCall& call, const CallKindFacts& kind) {
    const bool driver = kind.name.starts_with("cu") && !kind.name.starts_with("cuda");
    const size_t number =
        call_lanes_[kind.thread_id].Place(call.start_ns, call.start_ns + call.duration_ns, true);
    return Add(driver ? "cuda_driver" : "cuda_runtime", kind.name, pid_,
               kind.thread_id + 2 * static_cast<int64_t>(number) * kLaneTidOffset, call.start_ns,
               call.duration_ns,
               call_correlation_ == 0 ? std::string()
                                      : fmt::format("\"correlation\":{}", call_correlation_));
  }
  void SetCallCorrelation(int64_t correlation) { call_correlation_ = correlation; }

  // The correlation id of the source, else the call's number.
  static int64_t CorrelationOf(const ScannedLaunch& launch) {
    return launch.correlation_id.value_or(launch.api_call_id);
  }

  Status AddRange(const store::ScannedRange& range, const RangeKindFacts& kind) {
    const size_t number = range_lanes_[kind.thread_id].Place(
        range.start_ns, range.start_ns + range.duration_ns, true);
    return Add("user_annotation", kind.text, pid_,
               kind.thread_id + (2 * static_cast<int64_t>(number) + 1) * kLaneTidOffset,
               range.start_ns, range.duration_ns,
               kind.domain.empty() ? std::string() : "\"domain\":" + JsonText(kind.domain));
  }

  Status Finish() {
    buffer_ += "\n]}\n";
    return Flush();
  }
  int64_t events() const { return events_; }

 private:
  static int64_t OrdinalOf(const DeviceFacts& device) {
    return device.ordinal.value_or(device.device_id - 1);
  }

  void Separate() {
    if (!arguments_.empty()) arguments_ += ',';
  }

  const std::string& LabelArguments(int64_t label_id, const model::Label& label,
                                    const model::InstructionRow* instruction) {
    const auto [at, is_new] = label_arguments_.try_emplace(label_id);
    std::string& text = at->second;
    if (!is_new) return text;
    text = fmt::format("\"phase\":{}", JsonText(model::Text(run_.PhaseOf(label))));
    const auto add = [&](std::string_view name, std::string_view value) {
      if (!value.empty()) text += fmt::format(",\"{}\":{}", name, JsonText(value));
    };
    if (instruction != nullptr) {
      add("instruction", instruction->name);
      add("op_name", instruction->op_name);
      add("layer", instruction->layer);
      add("op_kind", model::Text(instruction->op_kind));
      if (!instruction->source_file.empty()) {
        add("source",
            fmt::format("{}:{}", instruction->source_file, instruction->source_line.value_or(0)));
      }
    } else {
      add("unattributed_reason", model::Text(label.reason));
    }
    add("module", At(run_.modules(), label.module_id).name);
    if (label.evidence != model::Evidence::kNone) add("evidence", model::Text(label.evidence));
    add("confidence", model::Text(label.confidence));
    return text;
  }

  Status Add(std::string_view category, std::string_view name, int64_t pid, int64_t tid,
             int64_t start_ns, int64_t duration_ns, std::string_view arguments) {
    ++events_;
    fmt::format_to(std::back_inserter(buffer_),
                   ",\n{{\"ph\":\"X\",\"cat\":\"{}\",\"name\":", category);
    AppendJson(buffer_, name);
    fmt::format_to(std::back_inserter(buffer_), ",\"pid\":{},\"tid\":{},\"ts\":", pid, tid);
    AppendTime(buffer_, start_ns + shift_ns_);
    buffer_ += ",\"dur\":";
    AppendTime(buffer_, duration_ns);
    buffer_ += ",\"args\":{";
    buffer_ += arguments;
    buffer_ += "}}";
    return buffer_.size() < kKinetoPieceBytes ? Status() : Flush();
  }

  // Members of gzip may follow each other (RFC 1952, 2.2).
  Status Flush() {
    Status status = file_.Append(gzip_ ? GzipCompress(buffer_, 4) : buffer_);
    buffer_.clear();
    return status;
  }

  const RunRows& run_;
  const ProcessFacts& process_;
  const Rank rank_;
  int64_t shift_ns_;
  bool gzip_;
  AtomicFile& file_;
  int64_t pid_ = 0, call_correlation_ = 0;
  int64_t events_ = 0;
  std::string buffer_, arguments_;
  std::map<int64_t, Lanes> lanes_, call_lanes_, range_lanes_;  // By lane_id; by thread.
  std::map<int64_t, std::string> label_arguments_;
};

// Everything of one process, in one pass over the run.
Result<int64_t> WriteProcess(const RunRows& run, int64_t process_id, Rank rank, int64_t shift_ns,
                             bool gzip, AtomicFile& file) {
  KinetoWriter writer(run, process_id, rank, shift_ns, gzip, file);
  XLATRACE_ASSIGN(const auto calls, run.LoadCallKinds());
  XLATRACE_TRY(writer.Begin());
  XLATRACE_TRY(writer.AddSteps());
  const auto add_call = [&](const HostCall& call, int64_t correlation) -> Status {
    const CallKindFacts& kind = At(calls, call.call_kind);
    if (kind.process_id != process_id || call.duration_ns < 0) return {};
    writer.SetCallCorrelation(correlation);
    return writer.AddCall(call, kind);
  };
  Status status;
  XLATRACE_TRY(store::ScanOtherCalls(run.db(), [&](const store::ScannedOtherCall& call) {
    if (!status || !run.selection().all()) return;
    status =
        add_call({call.api_call_id, call.call_kind, call.start_ns, call.end_ns - call.start_ns, {}},
                 call.correlation_id.value_or(call.api_call_id));
  }));
  XLATRACE_TRY(std::move(status));
  XLATRACE_TRY(run.ForEachByStart([&](const ScannedLaunch& launch) -> Status {
    if (At(run.devices(), At(run.lanes(), launch.lane_id).device_id).process_id != process_id) {
      return {};
    }
    Status added;
    if (launch.call_kind != 0) {
      added = add_call({launch.api_call_id,
                        launch.call_kind,
                        launch.call_start_ns,
                        launch.call_end_ns - launch.call_start_ns,
                        {}},
                       KinetoWriter::CorrelationOf(launch));
    }
    return added ? writer.AddLaunch(launch) : added;
  }));
  XLATRACE_ASSIGN(const auto kinds, run.LoadRangeKinds());
  XLATRACE_TRY(run.ForEachRangeByStart([&](const store::ScannedRange& range) -> Status {
    const RangeKindFacts& kind = At(kinds, range.range_kind);
    if (kind.process_id != process_id || range.is_mark || range.duration_ns < 0) return {};
    return writer.AddRange(range, kind);
  }));
  XLATRACE_TRY(writer.Finish());
  return writer.events();
}

}  // namespace

Result<ExportCount> WriteKineto(store::RunDb& db, const ExportRequest& request) {
  XLATRACE_ASSIGN(const RunRows run, RunRows::Load(db, request.progress, request.selection));
  std::vector<int64_t> processes;
  for (const DeviceFacts& device : run.devices()) {
    if (device.device_id == 0) continue;  // Not selected.
    if (std::find(processes.begin(), processes.end(), device.process_id) == processes.end()) {
      processes.push_back(device.process_id);
    }
  }
  XLATRACE_ASSIGN(const int64_t shift_ns, WholeSecondsBeforeZero(db));
  const std::string& output = request.output;
  const bool plain = output.ends_with(".json");
  ExportCount count;
  if (plain || output.ends_with(".json.gz")) {
    if (processes.size() != 1) {
      return MakeError(fmt::format("'{}' holds {} processes, and a Kineto file holds one",
                                   db.path(), processes.size()),
                       "name a folder: -o run.kineto", ErrorCode::kUsage);
    }
    XLATRACE_TRY(CheckOutputPath(output, request.force));
    XLATRACE_ASSIGN(AtomicFile file, AtomicFile::Create(output));
    const Rank rank{.rank = At(run.processes(), processes[0]).rank.value_or(0)};
    XLATRACE_ASSIGN(count.rows, WriteProcess(run, processes[0], rank, shift_ns, !plain, file));
    XLATRACE_TRY(file.Commit());
    count.files = 1;
    return count;
  }
  // Ranks where every process has one of its own, else processes are counted.
  std::set<int64_t> ranks;
  for (const int64_t process_id : processes) {
    ranks.insert(At(run.processes(), process_id).rank.value_or(-1));
  }
  const bool have_ranks = ranks.size() == processes.size() && !ranks.contains(-1);
  XLATRACE_ASSIGN(OutputFolder folder, OutputFolder::Create(output, request.force));
  for (size_t i = 0; i < processes.size(); ++i) {
    const int64_t process_id = processes[i];
    const Rank rank{
        .rank = have_ranks ? *At(run.processes(), process_id).rank : static_cast<int64_t>(i),
        .of = processes.size()};
    XLATRACE_ASSIGN(AtomicFile file, folder.Open(fmt::format("rank_{}.json.gz", rank.rank)));
    XLATRACE_ASSIGN(const int64_t rows, WriteProcess(run, process_id, rank, shift_ns, true, file));
    XLATRACE_TRY(folder.Close(std::move(file)));
    count.rows += rows;
  }
  count.files = static_cast<int64_t>(folder.file_count());
  XLATRACE_TRY(folder.Commit());
  return count;
}

}  // namespace xlatrace::exporter
