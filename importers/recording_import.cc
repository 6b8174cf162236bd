#include "importers/recording_import.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "importers/annotation.h"
#include "importers/copies.h"
#include "importers/counters.h"
#include "importers/hlo_rebuild.h"
#include "importers/recorded_process.h"
#include "importers/recorded_stats.h"
#include "importers/text_fields.h"
#include "recording/folder.h"
#include "recording/reader.h"

namespace xlatrace::importers {
namespace {

using model::ActivityKind;
using model::Evidence;
using model::Severity;
using recording::BlockType;
using recording::RowKind;

// Later than any clock; sums of two stay in 64 bits.
constexpr uint64_t kLatestNs = uint64_t{1} << 61;
constexpr int64_t kNeverSeen = std::numeric_limits<int64_t>::max();

std::optional<int64_t> Positive(uint64_t value) {
  if (value == 0 || value > static_cast<uint64_t>(kNeverSeen)) return std::nullopt;
  return static_cast<int64_t>(value);
}

ActivityKind KindOf(RowKind kind) {
  switch (kind) {
    case RowKind::kKernel:
      return ActivityKind::kKernel;
    case RowKind::kMemcpy:
    case RowKind::kMemcpyPeer:
      return ActivityKind::kMemcpy;
    case RowKind::kMemset:
      return ActivityKind::kMemset;
    case RowKind::kGraph:
      break;
  }
  return ActivityKind::kGraph;
}

class Import {
 public:
  Import(const std::string& path, bool live, model::EventSink& sink)
      : path_(path),
        live_(live),
        sink_(sink),
        counters_(std::filesystem::path(path).filename().string()) {}

  Result<RecordingImport> Run() {
    XLATRACE_ASSIGN(outcome_, recording::ReadRecording(path_, process_));
    process_.Finish();
    SetClock();
    AddProcess();
    AddDevices();
    AddSteps();
    CallPass calls(*this);
    XLATRACE_TRY(recording::ReadRecording(path_, calls, outcome_.bytes_read));
    AddModules();
    ActivityPass activities(*this);
    XLATRACE_TRY(recording::ReadRecording(path_, activities, outcome_.bytes_read));
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
        .own_cost_ns = cost("cost_writer_ns") + cost("cost_flusher_ns") + cost("cost_callbacks_ns"),
        .command = std::string(process_.Fact("command")),
        .process_id = process_id_,
        .has_modules = !module_ids_.empty(),
        .dump_folder = std::string(process_.Fact("dump_folder")),
        .errors = process_.errors};
  }

 private:
  struct CallPass final : recording::RowSink {
    explicit CallPass(Import& owner) : import(owner) {}
    bool Wants(BlockType type) const override { return type == BlockType::kApiCalls; }
    void OnApiCall(const recording::ApiCallRow& row) override { import.OnApiCall(row); }
    Import& import;
  };
  struct ActivityPass final : recording::RowSink {
    explicit ActivityPass(Import& owner) : import(owner) {}
    bool Wants(BlockType type) const override {
      return type == BlockType::kActivities || type == BlockType::kRanges;
    }
    void OnSegment(uint64_t, std::string_view) override {
      import.configs_.clear();
      import.lanes_of_segment_.clear();
    }
    void OnActivity(const recording::ActivityRow& row, const recording::ConfigRow& config,
                    const recording::LaneRow& lane) override {
      import.OnActivity(row, config, lane);
    }
    void OnRange(const recording::RangeRow& row) override { import.OnRange(row); }
    Import& import;
  };

  void SetClock() {
    const std::optional<int64_t> told = process_.IntFact("start_unix_ns");
    int64_t start = told && *told > 0 ? *told : 0;
    if (start == 0 && process_.first_ns < kLatestNs)
      start = static_cast<int64_t>(process_.first_ns);
    if (!sink_.start_unix_ns() && start > 0) sink_.SetStart(start);
    start_ns_ = sink_.start_unix_ns().value_or(0);
  }

  int64_t TimeOf(uint64_t ns) const { return static_cast<int64_t>(ns) - start_ns_; }

  void AddProcess() {
    model::Process process;
    process.host = std::string(process_.Fact("host"));
    process.pid = process_.IntFact("pid");
    process.rank = process_.IntFact("rank");
    process.local_rank = process_.IntFact("local_rank");
    process.command = std::string(process_.Fact("command"));
    process.clock_offset_ns = 0;  // Times are as the clock of its host says.
    const std::string_view program = process_.Fact("executable");
    process.name = std::string(program.substr(program.rfind('/') + 1));
    process_id_ = sink_.AddProcess(process);
    for (const auto& [thread, name] : process_.thread_names) {
      if (name.empty()) continue;
      sink_.AddThread({.process_id = process_id_, .thread_id = thread, .name = name});
    }
  }

  void AddDevices() {
    for (const auto& [id, row] : process_.devices) {
      model::Device device;
      device.process_id = process_id_;
      device.ordinal = row.device;
      device.name = row.name_text;
      device.uuid = row.uuid_text;
      if (row.compute_major != 0) {
        device.compute_capability = fmt::format("{}.{}", row.compute_major, row.compute_minor);
      }
      device.sm_count = Positive(row.sm_count);
      if (row.core_clock_khz < kLatestNs / 1000) {
        device.clock_hz = Positive(row.core_clock_khz * 1000);
      }
      if (row.memory_bandwidth_kb_per_s < kLatestNs / 1000) {
        device.memory_bandwidth_bytes_per_s = Positive(row.memory_bandwidth_kb_per_s * 1000);
      }
      device.memory_bytes = Positive(row.memory_bytes);
      device.warp_size = Positive(row.warp_size);
      device.max_threads_per_sm = Positive(uint64_t{row.max_warps_per_sm} * row.warp_size);
      device.max_blocks_per_sm = Positive(row.max_blocks_per_sm);
      device.registers_per_sm = Positive(row.registers_per_sm);
      device.shared_memory_per_sm_bytes = Positive(row.shared_memory_per_sm_bytes);
      device.shared_memory_per_block_optin_bytes =
          Positive(row.shared_memory_per_block_optin_bytes);
      device.shared_memory_per_block_bytes = Positive(row.shared_memory_per_block_bytes);
      device.shared_memory_reserved_per_block_bytes =
          Positive(row.shared_memory_reserved_per_block_bytes);
      device.max_threads_per_block = Positive(row.max_threads_per_block);
      device.registers_per_block = Positive(row.registers_per_block);
      device.l2_bytes = Positive(row.l2_bytes);
      if (!device.name.empty() && gpu_names_.find(device.name) == std::string::npos) {
        gpu_names_ += (gpu_names_.empty() ? "" : ", ") + device.name;
      }
      devices_[id] = sink_.AddDevice(device);
    }
  }

  model::Id DeviceOf(uint32_t id) {
    model::Id& device = devices_[id];
    if (device == 0) {
      device = sink_.AddDevice({.process_id = process_id_, .ordinal = id});
      counters_.Add("device_not_described", Severity::kNotice, 1,
                    "activities name a device that the recording does not describe");
    }
    return device;
  }

  // "cuLaunchKernelEx", as the process itself told.
  const std::string& FunctionName(const recording::ApiCallRow& row) {
    std::string& name = functions_[{row.domain, row.function}];
    if (!name.empty()) return name;
    const bool driver = row.domain == recording::ApiDomain::kDriver;
    const std::string_view domain = driver ? "driver" : "runtime";
    name = process_.Fact(fmt::format("api.{}.{}", domain, row.function));
    if (name.empty()) name = fmt::format("{} function {}", domain, row.function);
    return name;
  }

  // The host waits for the device there; nothing is started.
  static bool IsWait(std::string_view function) {
    return function.find("Synchronize") != std::string_view::npos;
  }

  uint32_t AddApiCall(const recording::ApiCallRow& row) {
    uint64_t start = row.start_ns;
    uint64_t end = row.end_ns;
    CheckTimes("call_times_invalid", &start, &end);
    return static_cast<uint32_t>(sink_.AddApiCall({.process_id = process_id_,
                                                   .thread_id = row.thread,
                                                   .name = FunctionName(row),
                                                   .correlation_id = row.correlation,
                                                   .start_ns = TimeOf(start),
                                                   .end_ns = TimeOf(end)}));
  }

  void OnApiCall(const recording::ApiCallRow& row) {
    if (row.thunk != 0) SeeThunk(row.thunk, row.start_ns);
    RecordedLaunch* launch = process_.launches.Find(row.correlation);
    if (launch == nullptr) {
      if (IsWait(FunctionName(row))) {
        AddApiCall(row);
      } else if (row.result == 0 && !LetGo(row)) {  // A call that failed started nothing.
        ++calls_without_activity_;
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
      if (title == 0) title = ModuleTitleOf(row.thunk);
    }
    const auto graph = process_.graph_launch_ns.find(row.correlation);
    if (graph != process_.graph_launch_ns.end()) graph->second = row.start_ns;
  }

  // A ring forgets what is oldest: an activity may have gone, and its call, written after it, not
  // yet.
  bool LetGo(const recording::ApiCallRow& call) const {
    return process_.ring && call.start_ns < process_.first_activity_ns;
  }

  void SeeThunk(uint32_t thunk, uint64_t time_ns) {
    if (time_ns == 0 || time_ns > kLatestNs) return;
    const auto time = static_cast<int64_t>(time_ns);
    const auto [it, fresh] = first_seen_.try_emplace(thunk, time);
    if (!fresh) it->second = std::min(it->second, time);
  }

  uint32_t ModuleTitleOf(uint32_t thunk) const {
    const uint32_t index = process_.modules.ModuleOf(thunk);
    return index == RegisteredModules::kNone ? 0 : process_.modules.modules()[index].title;
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

  // Times that CUPTI did not give, or that cannot be, are unknown. A start alone is believed: the
  // activity still ran when CUPTI was asked for the last time.
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

  void OnActivity(const recording::ActivityRow& row, const recording::ConfigRow& config,
                  const recording::LaneRow& lane) {
    model::Activity activity;
    activity.config_id = ConfigOf(row.config, config);
    activity.lane_id = LaneOf(row.lane, lane);
    SetTimes(row, &activity);
    activity.correlation_id = row.correlation;
    activity.graph_id = row.graph;
    activity.graph_node_id = static_cast<int64_t>(row.graph_node);
    if (row.kind != RowKind::kKernel && row.kind != RowKind::kGraph) {
      activity.bytes = static_cast<int64_t>(std::min<uint64_t>(row.bytes, kLatestNs));
    }
    Relate(row, &activity);
    sink_.AddActivity(activity);
    ++activities_;
  }

  // Adds what the launching thread tells.
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
        activity->run_key = (process_id_ << 32) + launch->run;
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
    activity->hint_id = HintOf(thunk, title, evidence);
  }

  model::Id HintOf(uint32_t thunk, uint32_t title, Evidence evidence) {
    // A title is registered for one executable: it tells more than the names of ranges do.
    if (const uint32_t own = ModuleTitleOf(thunk); own != 0) {
      const uint32_t around = process_.modules.ModuleOf(title);
      const bool other =
          around != RegisteredModules::kNone && around != process_.modules.ModuleOf(own);
      if (other && evidence == Evidence::kRange) ++thunks_in_other_run_;
      title = own;
    }
    if (thunk == 0 && title == 0) return 0;
    const HintKey key = {thunk, title, evidence};
    if (key == last_hint_key_) return last_hint_;
    model::Id& id = hints_[key];
    if (id == 0) id = MakeHint(thunk, title, evidence);
    last_hint_key_ = key;
    return last_hint_ = id;
  }

  model::Id MakeHint(uint32_t thunk, uint32_t title, Evidence evidence) {
    const Annotation module = ParseAnnotation(process_.strings.Text(title));
    const Annotation op = ParseAnnotation(process_.strings.Text(thunk));
    model::Hint hint;
    hint.evidence = evidence;
    // An executable that comes from a cache keeps the id it was compiled with: name and id may be
    // those of two modules, the handles of their strings are not.
    const uint32_t index = process_.modules.ModuleOf(title);
    if (index != RegisteredModules::kNone) hint.module_id = registered_ids_[index];
    // Thunks before 2022 name their module themselves.
    hint.module_name = std::string(module.Get("hlo_module"));
    if (hint.module_name.empty()) hint.module_name = std::string(op.Get("hlo_module"));
    hint.program_id = ParseInt(module.Get("program_id"));
    hint.instruction = std::string(op.Get("hlo_op"));
    if (const std::string_view name = op.Get("name"); !name.empty()) {
      const std::string_view prefix = module.Get("prefix");
      hint.op_name = prefix.empty() ? std::string(name) : fmt::format("{}/{}", prefix, name);
    }
    // Annotation level 1 (XLA since August 2026) says these itself.
    if (const std::string_view name = op.Get("op_name"); !name.empty()) {
      hint.op_name = std::string(name);
    }
    hint.source_file = std::string(op.Get("source_file"));
    hint.source_line = ParseInt(op.Get("source_line"));
    return sink_.AddHint(hint);
  }

  model::Id ConfigOf(uint32_t number, const recording::ConfigRow& row) {
    if (configs_.size() <= number) configs_.resize(number + 1, 0);
    model::Id& id = configs_[number];
    if (id != 0) return id;
    model::LaunchConfig config;
    config.kind = KindOf(row.kind);
    if (row.kind == RowKind::kKernel) {
      config.symbol = row.name.empty() ? "(unnamed)" : std::string(row.name);
      config.name = ShortKernelName(config.symbol);
      config.registers_per_thread = Positive(row.registers_per_thread);
      for (int i = 0; i < 3; ++i) {
        config.grid[i] = row.grid[i];
        config.block[i] = row.block[i];
        config.cluster[i] = Positive(row.cluster[i]);  // 0: no cluster.
      }
      config.shared_memory_static_bytes = row.shared_memory_static_bytes;
      config.shared_memory_dynamic_bytes = row.shared_memory_dynamic_bytes;
      config.local_memory_per_thread_bytes = row.local_memory_per_thread_bytes;
    } else {
      if (row.kind == RowKind::kMemcpy) config.copy_kind = CopyKindOf(row.copy_kind);
      if (row.kind == RowKind::kMemcpyPeer) config.copy_kind = model::CopyKind::kPeerToPeer;
      config.symbol = row.kind == RowKind::kMemset  ? "Memset"
                      : row.kind == RowKind::kGraph ? "CudaGraph"
                                                    : CopyName(config.copy_kind);
      config.name = config.symbol;
    }
    return id = sink_.AddLaunchConfig(config);
  }

  model::Id LaneOf(uint32_t number, const recording::LaneRow& row) {
    if (lanes_of_segment_.size() <= number) lanes_of_segment_.resize(number + 1, 0);
    model::Id& id = lanes_of_segment_[number];
    if (id != 0) return id;
    model::Lane lane;
    lane.device_id = DeviceOf(row.device);
    lane.stream_id = row.stream;
    lane.context_id = row.context;
    const auto null_stream = process_.null_streams.find(row.context);
    const bool is_default =
        null_stream != process_.null_streams.end() && null_stream->second == row.stream;
    lane.name = fmt::format("Stream #{}{}", row.stream, is_default ? " (default)" : "");
    const auto name = process_.stream_names.find({row.context, row.stream});
    if (name != process_.stream_names.end() && !name->second.empty()) {
      lane.name += ": " + name->second;
    }
    const auto priority = process_.priorities.find({row.context, row.stream});
    if (priority != process_.priorities.end()) lane.priority = priority->second;
    return id = sink_.AddLane(lane);
  }

  // Steps that the program marks (xlatrace.h), or that a window of steps counted: each lasts until
  // the next one.
  void AddSteps() {
    for (size_t i = 0; i < process_.steps.size(); ++i) {
      const auto& [time, number] = process_.steps[i];
      const uint64_t next = i + 1 < process_.steps.size() ? process_.steps[i + 1].first
                                                          : std::max(process_.last_ns, time);
      if (time == 0 || next > kLatestNs) continue;
      sink_.AddStepMark({.process_id = process_id_,
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
    if (text.empty()) counters_.Add("range_without_text", Severity::kInfo);
    sink_.AddRange({.process_id = process_id_,
                    .thread_id = row.thread,
                    .domain = process_.strings.Text(row.domain),
                    .text = text,
                    .start_ns = TimeOf(start),
                    .end_ns = TimeOf(end),
                    .depth = static_cast<int32_t>(std::min<uint32_t>(row.depth, 1 << 20))});
    AddCompile(text, TimeOf(start), TimeOf(end));
  }

  // `XlaCompile:#module=jit_f,program_id=7#`, `XlaPass:#name=dce,...#`: "XlaPass: dce".
  void AddCompile(std::string_view text, int64_t start_ns, int64_t end_ns) {
    if (!text.starts_with("Xla") || text.starts_with("XlaModule:")) return;
    const Annotation annotation = ParseAnnotation(text);
    if (annotation.fields.empty() || !annotation.title.ends_with(':')) return;
    std::string name(annotation.title.substr(0, annotation.title.size() - 1));
    if (const std::string_view pass = annotation.Get("name"); !pass.empty()) {
      name += fmt::format(": {}", pass);
    }
    const auto module = module_ids_.find(
        {std::string(annotation.Get("module")), ParseInt(annotation.Get("program_id"))});
    sink_.AddCompile({.process_id = process_id_,
                      .module_id = module == module_ids_.end() ? 0 : module->second,
                      .name = name,
                      .start_ns = start_ns,
                      .end_ns = end_ns});
  }

  // The modules of which something ran.
  void AddModules() {
    const std::vector<RegisteredModule>& modules = process_.modules.modules();
    registered_ids_.assign(modules.size(), 0);
    std::vector<bool> ran(modules.size(), false);
    const auto mark = [&](uint32_t title) {
      const uint32_t index = process_.modules.ModuleOf(title);
      if (index != RegisteredModules::kNone) ran[index] = true;
    };
    process_.nodes.ForEachThunk(
        [&](uint32_t thunk, uint64_t time_ns) { SeeThunk(thunk, time_ns); });
    for (const auto& [thunk, time] : first_seen_) mark(thunk);
    for (const uint32_t title : process_.runs) mark(title);
    const InstructionOrder order = [&](const RegisteredInstruction& instruction) {
      const auto it = first_seen_.find(instruction.title);
      return it == first_seen_.end() ? kNeverSeen : it->second;
    };
    for (size_t i = 0; i < modules.size(); ++i) {
      const RegisteredModule& module = modules[i];
      if (!ran[i] || module.instructions.empty()) {
        counters_.Add(ran[i] ? "module_without_instructions" : "module_not_run", Severity::kInfo);
        continue;
      }
      const RebuiltModule rebuilt = RebuildHlo(module, order);
      if (rebuilt.missing > 0) {
        counters_.Add("computation_not_told", Severity::kNotice, rebuilt.missing,
                      "computations whose text XLA did not register are left empty");
      }
      if (rebuilt.undefined > 0) {
        counters_.Add("instruction_not_told", Severity::kNotice, rebuilt.undefined,
                      "operands that XLA did not register stand as empty instructions");
      }
      if (rebuilt.completed > 0) {
        counters_.Add("computation_text_cut", Severity::kInfo, rebuilt.completed);
      }
      const model::Id id = sink_.AddModule({.process_id = process_id_,
                                            .name = module.name,
                                            .program_id = module.program_id,
                                            .source = model::ModuleSource::kNvtx,
                                            .format = model::ModuleBlob::Format::kHloText,
                                            .bytes = rebuilt.text});
      module_ids_[{std::string(module.name), module.program_id}] = id;  // The latest one counts.
      registered_ids_[i] = id;
    }
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
    set("beside_profiler", "beside_profiler");
    set("collector_version", "tool_version");
    if (const auto driver = process_.IntFact("driver_version"); driver && *driver >= 1000) {
      sink_.SetRunInfo("cuda", fmt::format("{}.{}", *driver / 1000, *driver % 1000 / 10));
    }
    set("driver", "nvidia_driver_version");
    set("recorded_steps", "steps");
    set("recorded_delay_ms", "delay_ms");
    set("recorded_duration_ms", "duration_ms");
    set("recorded_last_ms", "last_ms");
    set("graphs", "graphs");
    // What the program calls its devices; XLA: which of the job's devices each one is.
    constexpr std::string_view kDeviceName = "device_name.";
    for (auto it = process_.facts.lower_bound(kDeviceName);
         it != process_.facts.end() && it->first.starts_with(kDeviceName); ++it) {
      const std::string host_and_pid =
          fmt::format("{}.{}", process_.Fact("host"), process_.Fact("pid"));
      sink_.SetRunInfo(
          fmt::format("device_name.{}.{}", host_and_pid, it->first.substr(kDeviceName.size())),
          it->second);
    }
    if (!gpu_names_.empty()) sink_.SetRunInfo("gpu", gpu_names_);
    if (activities_ > 0) {
      sink_.SetRunInfo("granularity", model::Text(model::Granularity::kKernel));
    }
  }

  void AddStats() {
    AddRecordedStats(process_, &counters_);
    for (const std::string& error : process_.errors) {
      counters_.Add(
          "collector: " + error.substr(0, 300), Severity::kError, 1,
          "what the collector said about this process; xlatrace doctor checks the set-up");
    }
    if (outcome_.damaged_blocks > 0) {
      counters_.Add("recording_damaged", Severity::kDataLoss,
                    static_cast<int64_t>(outcome_.damaged_blocks),
                    "places in the recording that cannot be read; the rest was used");
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
    if (live_) {
      counters_.Add("process_still_running", Severity::kNotice, 1,
                    "this is a part of the run; the same command again gives more");
    } else if (!outcome_.complete && outcome_.damaged_blocks == 0) {
      counters_.Add("process_killed", Severity::kNotice, 1,
                    "the process ended without closing its recording; at most one flush period of "
                    "its work (1 s unless set otherwise) is missing");
    }
    // What was under way when a process was killed has a call and no activity.
    // Of those whose record CUPTI says it dropped, that is said already.
    const auto dropped = process_.stats.find("records_dropped");
    calls_without_activity_ -= std::min<int64_t>(
        calls_without_activity_,
        dropped == process_.stats.end() ? 0 : static_cast<int64_t>(dropped->second));
    if (calls_without_activity_ > 0) {
      counters_.Add("launch_without_activity",
                    outcome_.complete ? Severity::kDataLoss : Severity::kNotice,
                    calls_without_activity_, "calls that start device work, but no record of it");
    }
    if (activities_without_times_ > 0) {
      counters_.Add("activity_times_unknown", Severity::kDataLoss, activities_without_times_,
                    "CUPTI gave no valid times: they are NULL, and in no sum");
    }
    if (activities_without_end_ > 0) {
      counters_.Add("activity_end_unknown", Severity::kNotice, activities_without_end_,
                    "still running when CUPTI was asked last: their end is NULL");
    }
    if (activities_without_call_ > 0) {
      counters_.Add("activity_without_call", Severity::kInfo, activities_without_call_);
    }
    // In light mode no node has a range: nothing to say about it.
    if (nodes_unknown_ > 0 && process_.Fact("mode") != "light") {
      counters_.Add("graph_node_unknown", Severity::kNotice, nodes_unknown_,
                    "activities of CUDA graphs whose node was made outside of any XLA range");
    }
    if (thunks_in_other_run_ > 0) {
      counters_.Add("thunk_in_run_of_other_module", Severity::kNotice, thunks_in_other_run_,
                    "launches under a thunk of another module than the run around it");
    }
    if (process_.strings.cut() > 0) {
      counters_.Add("string_cut", Severity::kInfo, process_.strings.cut());
    }
  }

  struct HintKey {
    uint32_t thunk = 0;
    uint32_t title = 0;
    Evidence evidence = Evidence::kNone;
    bool operator==(const HintKey&) const = default;
  };
  struct HintKeyHash {
    size_t operator()(const HintKey& key) const {
      return (uint64_t{key.thunk} << 32 | key.title) * 0x9E3779B97F4A7C15u +
             static_cast<size_t>(key.evidence);
    }
  };

  const std::string& path_;
  const bool live_;
  model::EventSink& sink_;
  Counters counters_;
  RecordedProcess process_;
  recording::ReadOutcome outcome_;
  int64_t start_ns_ = 0;  // Of the sink's clock.
  uint64_t last_time_ns_ = 0;
  model::Id process_id_ = 0;
  std::string gpu_names_;
  std::map<uint32_t, model::Id> devices_;
  std::map<std::pair<recording::ApiDomain, uint32_t>, std::string> functions_;
  std::unordered_map<uint32_t, int64_t> first_seen_;  // By string id of the thunk.
  std::map<std::pair<std::string, std::optional<int64_t>>, model::Id> module_ids_;
  std::vector<model::Id> registered_ids_;    // Of process_.modules; 0: not added.
  std::vector<model::Id> configs_;           // By number in the segment.
  std::vector<model::Id> lanes_of_segment_;  // The same.
  std::unordered_map<HintKey, model::Id, HintKeyHash> hints_;
  HintKey last_hint_key_;
  model::Id last_hint_ = 0;
  int64_t activities_ = 0;
  int64_t activities_without_times_ = 0;
  int64_t activities_without_end_ = 0;
  int64_t calls_without_activity_ = 0;
  int64_t activities_without_call_ = 0;
  int64_t nodes_unknown_ = 0;
  int64_t thunks_in_other_run_ = 0;
};

}  // namespace

Result<RecordingImport> ImportRecording(const std::string& path, bool live,
                                        model::EventSink& sink) {
  return Import(path, live, sink).Run();
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
