// SPDX-License-Identifier: Apache-2.0
#include "export/perfetto.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/file.h"
#include "export/export_format.h"
#include "export/lanes.h"
#include "export/open_calls.h"
#include "export/run_rows.h"
#include "export/trace_packets.h"
#include "model/words.h"

namespace xlatrace::exporter {
namespace {

using store::ScannedLaunch;

constexpr int64_t kBusyBinCount = 2000;

// One track, made when the first slice lands on it; more of them where slices overlap.
struct LaneTracks {
  uint64_t parent = 0;
  std::string title;
  Lanes lanes;
  std::vector<uint64_t> tracks;
};

// Neighbours of one name as one slice.
struct Span {
  uint64_t track = 0;
  uint64_t name = 0;  // 0: none open.
  int64_t execution = 0;
  int64_t start_ns = 0, end_ns = 0;
};

struct DeviceTracks {
  uint64_t group = 0, steps = 0, phases = 0, layers = 0;
  uint64_t busy = 0, exposed = 0, occupancy = 0, memory = 0;
  LaneTracks modules;
  Span phase, layer;
  double last_occupancy = -1;
  // Union of intervals so far, and the bin that is being filled.
  int64_t busy_until_ns = INT64_MIN;
  int64_t bin_ns = 1, bin_start_ns = 0, bin_busy_ns = 0;
};

class PerfettoWriter {
 public:
  PerfettoWriter(const RunRows& run, AtomicFile& file)
      : run_(run), packets_([&file](std::string_view bytes) { return file.Append(bytes); }) {}

  Result<int64_t> Write() {
    XLATRACE_ASSIGN(shift_ns_, WholeSecondsBeforeZero(run_.db()));
    if (run_.start_unix_ns() > 0) {
      packets_.Clock(0,
                     static_cast<uint64_t>(std::max<int64_t>(0, run_.start_unix_ns() - shift_ns_)));
    }
    MakeProcesses();
    XLATRACE_TRY(MakeDevices());
    WriteSteps();
    XLATRACE_TRY(WriteExposed());
    WriteExecutions();
    XLATRACE_TRY(WriteLaunches());
    XLATRACE_TRY(WriteRanges());
    XLATRACE_TRY(packets_.Finish());
    return packets_.slices();
  }

 private:
  uint64_t Time(int64_t ns) const {
    return static_cast<uint64_t>(std::max<int64_t>(0, ns + shift_ns_));
  }

  // Pids of several hosts may be equal, and a trace has no hosts: then our own numbers are used.
  int32_t PidOf(const ProcessFacts& process) const {
    return own_pids_ ? static_cast<int32_t>(process.process_id)
                     : static_cast<int32_t>(*process.pid);
  }

  void MakeProcesses() {
    std::set<int64_t> pids;
    for (const ProcessFacts& p : run_.processes()) {
      const bool usable = p.pid && *p.pid > 0 && *p.pid <= INT32_MAX && pids.insert(*p.pid).second;
      own_pids_ = own_pids_ || !usable;
    }
    for (const ProcessFacts& p : run_.processes()) {
      std::string title = run_.ProcessTitle(p);
      if (!p.name.empty()) title += " " + p.name;
      process_tracks_[p.process_id] = packets_.ProcessTrack(PidOf(p), title);
    }
  }

  Status MakeDevices() {
    XLATRACE_ASSIGN(const store::Table busy,
                    run_.db().Select("SELECT device_id, start_ns, end_ns FROM busy_time"));
    std::map<int64_t, std::pair<int64_t, int64_t>> spans;
    for (size_t i = 0; i < busy.rows.size(); ++i) {
      spans[busy.Int(i, "device_id")] = {busy.Int(i, "start_ns"), busy.Int(i, "end_ns")};
    }
    for (const DeviceFacts& device : run_.devices()) {
      const auto process = process_tracks_.find(device.process_id);
      if (process == process_tracks_.end()) continue;
      DeviceTracks& tracks = devices_[device.device_id];
      tracks.group = packets_.Track(process->second, run_.DeviceTitle(device));
      tracks.steps = packets_.Track(tracks.group, "steps");
      tracks.modules = {tracks.group, "modules", {}, {}};
      tracks.modules.tracks.push_back(packets_.Track(tracks.group, "modules"));
      tracks.phases = packets_.Track(tracks.group, "phases");
      tracks.layers = packets_.Track(tracks.group, "layers");
      tracks.busy = packets_.CounterTrack(tracks.group, "busy", TracePackets::Unit::kPercent);
      tracks.exposed = packets_.CounterTrack(tracks.group, "exposed communication and copies",
                                             TracePackets::Unit::kPercent);
      tracks.occupancy = packets_.CounterTrack(tracks.group, "theoretical occupancy",
                                               TracePackets::Unit::kPercent);
      tracks.memory = packets_.CounterTrack(tracks.group, "peak memory of the module",
                                            TracePackets::Unit::kBytes);
      tracks.phase.track = tracks.phases;
      tracks.layer.track = tracks.layers;
      auto [start, end] = spans[device.device_id];
      if (run_.window()) {
        start = std::max(start, run_.window()->first);
        end = std::min(end, run_.window()->second);
      }
      tracks.bin_start_ns = start;
      tracks.bin_ns = std::max<int64_t>(1'000, (end - start) / kBusyBinCount + 1);
    }
    return {};
  }

  uint64_t TrackAt(LaneTracks& lanes, int64_t start_ns, int64_t end_ns, bool may_nest) {
    const size_t lane = lanes.lanes.Place(start_ns, end_ns, may_nest);
    while (lane >= lanes.tracks.size()) {
      const size_t number = lanes.tracks.size() + 1;
      lanes.tracks.push_back(packets_.Track(
          lanes.parent, number == 1 ? lanes.title : fmt::format("{} ({})", lanes.title, number)));
    }
    return lanes.tracks[lane];
  }

  void WriteSteps() {
    const std::string steady = packets_.Annotation("steady", int64_t{1});
    const std::string unsteady = packets_.Annotation("steady", int64_t{0});
    std::map<int64_t, int64_t> last_end;
    for (const StepFacts& step : run_.steps()) {  // By device and start.
      const auto device = devices_.find(step.device_id);
      if (device == devices_.end()) continue;
      auto [end, is_first] = last_end.try_emplace(step.device_id, step.start_ns);
      const int64_t start = std::max(step.start_ns, end->second);
      if (step.end_ns < start) continue;
      end->second = step.end_ns;
      const std::string number = packets_.Annotation("step", step.step);
      packets_.Add({.track = device->second.steps,
                    .begin_ns = Time(start),
                    .end_ns = Time(step.end_ns),
                    .name = packets_.Name(fmt::format("step {}", step.step)),
                    .parts = {step.steady ? steady : unsteady, number, {}}});
    }
  }

  Status WriteExposed() {
    XLATRACE_ASSIGN(
        const store::Table parts,
        run_.db().Select(
            "SELECT s.device_id, s.step, s.start_ns, s.end_ns, sum(p.wall_ns) AS exposed_ns"
            " FROM step s JOIN step_part p ON p.device_id = s.device_id"
            " AND p.step = s.step WHERE p.part IN ('exposed_collective',"
            " 'exposed_copy') GROUP BY s.device_id, s.step"
            " ORDER BY s.device_id, s.start_ns"));
    for (size_t i = 0; i < parts.rows.size(); ++i) {
      const auto device = devices_.find(parts.Int(i, "device_id"));
      const int64_t start = parts.Int(i, "start_ns");
      const int64_t end = parts.Int(i, "end_ns");
      if (device == devices_.end() || end <= start) continue;
      if (!run_.selection().HasStep(parts.Int(i, "step"))) continue;
      const double share = 100.0 * static_cast<double>(parts.Int(i, "exposed_ns")) /
                           static_cast<double>(end - start);
      packets_.Counter(device->second.exposed, Time(start), share);
      packets_.Counter(device->second.exposed, Time(end), 0);
    }
    return {};
  }

  void WriteExecutions() {
    // Programs may run beside each other; each has its own memory.
    std::map<int64_t, std::vector<std::pair<int64_t, int64_t>>> memory;
    std::vector<const model::Execution*> order;
    for (const model::Execution& e : run_.attribution().executions) order.push_back(&e);
    std::stable_sort(order.begin(), order.end(),
                     [](const auto* a, const auto* b) { return a->start_ns < b->start_ns; });
    for (const model::Execution* e : order) {
      const auto device = devices_.find(e->device_id);
      if (device == devices_.end() || e->end_ns < e->start_ns) continue;
      const ModuleFacts& module = At(run_.modules(), e->module_id);
      packets_.Add({.track = TrackAt(device->second.modules, e->start_ns, e->end_ns, false),
                    .begin_ns = Time(e->start_ns),
                    .end_ns = Time(e->end_ns),
                    .name = packets_.Name(module.name.empty() ? "(module)" : module.name)});
      if (!module.peak_memory_bytes) continue;
      std::vector<std::pair<int64_t, int64_t>>& changes = memory[e->device_id];
      changes.emplace_back(e->start_ns, *module.peak_memory_bytes);
      changes.emplace_back(e->end_ns, -*module.peak_memory_bytes);
    }
    for (auto& [device_id, changes] : memory) {
      // At equal times, memory is freed before it is allocated.
      std::sort(changes.begin(), changes.end());
      int64_t bytes = 0;
      for (const auto& [at_ns, change] : changes) {
        bytes += change;
        packets_.Counter(devices_.at(device_id).memory, Time(at_ns), static_cast<double>(bytes));
      }
    }
  }

  // Parts shared by all launches of a label.
  struct LabelParts {
    bool made = false;
    uint64_t name = 0;  // 0: that of the kernel.
    uint64_t phase = 0, layer = 0;
    std::string bytes;
  };
  struct ConfigParts {
    bool made = false;
    uint64_t name = 0;
    std::string bytes;
  };

  LabelParts& PartsOf(const ScannedLaunch& launch) {
    const auto index = static_cast<size_t>(std::max<int64_t>(0, launch.label_id));
    if (index >= label_parts_.size()) {
      label_parts_.resize(std::max(index, run_.attribution().labels.size()) + 1);
    }
    LabelParts& parts = label_parts_[index];
    if (parts.made) return parts;
    parts.made = true;
    const model::Label& label = run_.LabelOf(launch.label_id);
    const model::Phase phase = run_.PhaseOf(label);
    parts.phase = packets_.Name(model::Text(phase));
    std::string& bytes = parts.bytes;
    const auto add = [&](std::string_view name, std::string_view text) {
      bytes += packets_.Annotation(name, text);
    };
    if (const model::InstructionRow* i = run_.InstructionOf(label)) {
      parts.name = packets_.Name(i->name);
      if (!i->layer.empty()) parts.layer = packets_.Name(i->layer);
      add("instruction", i->name);
      add("op_name", i->op_name);
      add("layer", i->layer);
      add("category", i->category);
      if (!i->source_file.empty()) {
        bytes += packets_.SourceLocation(i->source_file, i->source_line.value_or(0));
        add("source", i->source_line ? fmt::format("{}:{}", i->source_file, *i->source_line)
                                     : i->source_file);
      }
    } else {
      add("unattributed_reason", model::Text(label.reason));
    }
    add("module", At(run_.modules(), label.module_id).name);
    add("phase", model::Text(phase));
    if (label.evidence != model::Evidence::kNone) add("evidence", model::Text(label.evidence));
    add("confidence", model::Text(label.confidence));
    return parts;
  }

  ConfigParts& PartsOfConfig(int64_t config_id, const ConfigFacts& config) {
    const auto index = static_cast<size_t>(std::max<int64_t>(0, config_id));
    if (index >= config_parts_.size()) {
      config_parts_.resize(std::max(index, run_.configs().size()) + 1);
    }
    ConfigParts& parts = config_parts_[index];
    if (parts.made) return parts;
    parts.made = true;
    parts.name = packets_.Name(!config.name.empty() ? config.name : config.kind);
    parts.bytes = packets_.Annotation("kind", config.kind) +
                  packets_.Annotation("kernel", config.name) +
                  packets_.Annotation("copy_kind", config.copy_kind);
    if (config.grid[0] && config.block[0]) {
      const auto text = [](const std::optional<int64_t>(&size)[3]) {
        return fmt::format("{} x {} x {}", size[0].value_or(1), size[1].value_or(1),
                           size[2].value_or(1));
      };
      parts.bytes += packets_.Annotation("grid", text(config.grid));
      parts.bytes += packets_.Annotation("block", text(config.block));
    }
    return parts;
  }

  void ExtendSpan(Span& span, uint64_t name, const ScannedLaunch& launch) {
    const int64_t end = launch.start_ns + launch.duration_ns;
    if (span.name == name && span.execution == launch.execution_id) {
      span.end_ns = std::max(span.end_ns, end);
      return;
    }
    CloseSpan(span, launch.start_ns);
    span.name = name;
    span.execution = launch.execution_id;
    span.start_ns = std::max(launch.start_ns, span.end_ns);
    span.end_ns = std::max(end, span.start_ns);
  }

  void CloseSpan(Span& span, int64_t before_ns) {
    span.end_ns = std::min(span.end_ns, before_ns);
    if (span.name != 0 && span.end_ns > span.start_ns) {
      packets_.Add({.track = span.track,
                    .begin_ns = Time(span.start_ns),
                    .end_ns = Time(span.end_ns),
                    .name = span.name});
    }
    span.end_ns = std::max(span.start_ns, span.end_ns);
  }

  void CountBusy(DeviceTracks& device, int64_t start_ns, int64_t end_ns) {
    start_ns = std::max(start_ns, device.busy_until_ns);
    if (end_ns <= start_ns) return;
    device.busy_until_ns = end_ns;
    while (end_ns > start_ns) {
      const int64_t bin_end = device.bin_start_ns + device.bin_ns;
      if (start_ns >= bin_end) {
        CloseBin(device);
        continue;
      }
      const int64_t until = std::min(end_ns, bin_end);
      device.bin_busy_ns += until - start_ns;
      start_ns = until;
    }
  }

  void CloseBin(DeviceTracks& device) {
    packets_.Counter(
        device.busy, Time(device.bin_start_ns),
        100.0 * static_cast<double>(device.bin_busy_ns) / static_cast<double>(device.bin_ns));
    device.bin_start_ns += device.bin_ns;
    device.bin_busy_ns = 0;
  }

  Status WriteLaunches() {
    XLATRACE_ASSIGN(call_kinds_, run_.LoadCallKinds());
    OpenCalls calls([this](const HostCall& call) {
      WriteCall(call);
      return Status();
    });
    XLATRACE_TRY(store::ScanOtherCalls(
        run_.db(), [&](const store::ScannedOtherCall& call) { calls.AddOther(call); }));
    XLATRACE_TRY(run_.ForEachByStart([&](const ScannedLaunch& launch) {
      Status given = calls.Add(launch);
      if (given) WriteLaunch(launch);
      return given;
    }));
    for (auto& [id, device] : devices_) {
      CloseSpan(device.phase, INT64_MAX);
      CloseSpan(device.layer, INT64_MAX);
      CloseBin(device);
      packets_.Counter(device.busy, Time(device.bin_start_ns), 0);
    }
    return calls.Finish();
  }

  void WriteLaunch(const ScannedLaunch& launch) {
    const LaneFacts& lane = At(run_.lanes(), launch.lane_id);
    const auto found = devices_.find(lane.device_id);
    if (found == devices_.end()) return;
    DeviceTracks& device = found->second;
    const ConfigFacts& config = At(run_.configs(), launch.config_id);
    const model::Label& label = run_.LabelOf(launch.label_id);
    const int64_t end = launch.start_ns + launch.duration_ns;

    LaneTracks& stream = streams_[{lane.device_id, lane.stream_id.value_or(-1)}];
    if (stream.parent == 0) {
      stream.parent = device.group;
      stream.title = !lane.name.empty() ? lane.name
                     : lane.stream_id   ? fmt::format("stream {}", *lane.stream_id)
                                        : "stream";
    }
    // Ops of CPUs and TPUs nest, kernels do not.
    const bool may_nest = config.kind == "op" || config.kind == "range";
    const LabelParts& label_parts = PartsOf(launch);
    const ConfigParts& config_parts = PartsOfConfig(launch.config_id, config);
    own_parts_ = packets_.Annotation("activity_id", launch.activity_id);
    if (launch.step) own_parts_ += packets_.Annotation("step", *launch.step);
    if (launch.self_ns != launch.duration_ns) {
      own_parts_ += packets_.Annotation("self_ns", launch.self_ns);
    }
    if (launch.bytes) own_parts_ += packets_.Annotation("bytes", *launch.bytes);
    packets_.Add(
        {.track = TrackAt(stream, launch.start_ns, end, may_nest),
         .begin_ns = Time(launch.start_ns),
         .end_ns = Time(end),
         .name = label_parts.name != 0 ? label_parts.name : config_parts.name,
         .category = packets_.Category(run_.OpKindOf(label, config)),
         .parts = {label_parts.bytes, config_parts.bytes, own_parts_},
         .flow_in = launch.api_call_id != 0 ? static_cast<uint64_t>(launch.activity_id) : 0});
    ExtendSpan(device.phase, label_parts.phase, launch);
    ExtendSpan(device.layer, label_parts.layer, launch);
    CountBusy(device, launch.start_ns, end);
    if (config.occupancy_pct && *config.occupancy_pct != device.last_occupancy) {
      device.last_occupancy = *config.occupancy_pct;
      packets_.Counter(device.occupancy, Time(launch.start_ns), device.last_occupancy);
    }
  }

  LaneTracks& CallsOf(const CallKindFacts& kind) {
    LaneTracks& lanes = call_tracks_[{kind.process_id, kind.thread_id}];
    if (lanes.parent == 0) {
      lanes.parent = ThreadTrack(kind.process_id, kind.thread_id);
      lanes.title = fmt::format("API calls of thread {}", kind.thread_id);
    }
    return lanes;
  }

  void WriteCall(const HostCall& call) {
    const CallKindFacts& kind = At(call_kinds_, call.call_kind);
    if (!process_tracks_.contains(kind.process_id) || call.duration_ns < 0) return;
    if (call.activities.empty() && !run_.selection().all()) return;
    const int64_t end = call.start_ns + call.duration_ns;
    packets_.Add({.track = TrackAt(CallsOf(kind), call.start_ns, end, true),
                  .begin_ns = Time(call.start_ns),
                  .end_ns = Time(end),
                  .name = packets_.Name(kind.name.empty() ? "(call)" : kind.name),
                  .category = packets_.Category("api_call"),
                  .flows_out = call.activities});
  }

  uint64_t ThreadTrack(int64_t process_id, int64_t thread_id) {
    const auto [at, is_new] = thread_tracks_.try_emplace({process_id, thread_id}, 0);
    if (!is_new) return at->second;
    if (thread_names_.empty()) LoadThreadNames();
    const auto name = thread_names_.find({process_id, thread_id});
    const ProcessFacts& process = At(run_.processes(), process_id);
    const bool usable = thread_id > 0 && thread_id <= INT32_MAX && tids_.insert(thread_id).second;
    const std::string title =
        name != thread_names_.end() ? name->second : fmt::format("thread {}", thread_id);
    at->second = usable
                     ? packets_.ThreadTrack(PidOf(process), static_cast<int32_t>(thread_id), title)
                     : packets_.Track(process_tracks_[process_id], title);
    return at->second;
  }

  void LoadThreadNames() {
    thread_names_[{0, 0}] = "";
    const auto table = run_.db().Select("SELECT process_id, thread_id, name FROM thread");
    for (size_t i = 0; table && i < table->rows.size(); ++i) {
      thread_names_[{table->Int(i, "process_id"), table->Int(i, "thread_id")}] =
          table->Text(i, "name");
    }
  }

  Status WriteRanges() {
    XLATRACE_ASSIGN(const auto kinds, run_.LoadRangeKinds());
    return run_.ForEachRangeByStart([&](const store::ScannedRange& range) -> Status {
      const RangeKindFacts& kind = At(kinds, range.range_kind);
      if (!process_tracks_.contains(kind.process_id) || range.duration_ns < 0) return {};
      LaneTracks& lanes = range_tracks_[{kind.process_id, kind.thread_id}];
      if (lanes.parent == 0) {
        lanes.parent = ThreadTrack(kind.process_id, kind.thread_id);
        lanes.title = fmt::format("ranges of thread {}", kind.thread_id);
        lanes.tracks.push_back(lanes.parent);
      }
      const uint64_t name = packets_.Name(kind.text.empty() ? "(range)" : kind.text);
      const uint64_t category =
          packets_.Category(kind.domain.empty() ? std::string_view("range") : kind.domain);
      if (range.is_mark) {
        packets_.Instant(lanes.parent, Time(range.start_ns), name, category);
        return {};
      }
      const int64_t end = range.start_ns + range.duration_ns;
      packets_.Add({.track = TrackAt(lanes, range.start_ns, end, true),
                    .begin_ns = Time(range.start_ns),
                    .end_ns = Time(end),
                    .name = name,
                    .category = category});
      return {};
    });
  }

  using Pair = std::pair<int64_t, int64_t>;

  const RunRows& run_;
  TracePackets packets_;
  int64_t shift_ns_ = 0;
  bool own_pids_ = false;
  std::map<int64_t, uint64_t> process_tracks_;
  std::map<int64_t, DeviceTracks> devices_;
  std::map<Pair, LaneTracks> streams_;      // By device and stream.
  std::map<Pair, uint64_t> thread_tracks_;  // By process and thread.
  std::map<Pair, LaneTracks> call_tracks_, range_tracks_;
  std::map<Pair, std::string> thread_names_;
  std::set<int64_t> tids_;
  std::vector<CallKindFacts> call_kinds_;
  std::vector<LabelParts> label_parts_;
  std::vector<ConfigParts> config_parts_;
  std::string own_parts_;
};

}  // namespace

Result<ExportCount> WritePerfetto(store::RunDb& db, const ExportRequest& request) {
  XLATRACE_ASSIGN(const RunRows run, RunRows::Load(db, request.progress, request.selection));
  XLATRACE_ASSIGN(AtomicFile file, AtomicFile::Create(request.output));
  XLATRACE_ASSIGN(const int64_t slices, PerfettoWriter(run, file).Write());
  XLATRACE_TRY(file.Commit());
  return ExportCount{slices, 1};
}

}  // namespace xlatrace::exporter
