// SPDX-License-Identifier: Apache-2.0

// The trace.json.gz that XProf writes beside its XSpace: rows as xplane.h describes them, with a
// process per plane and a thread per line.
//
// Rows of GPUs lack the program id that the XSpace has; rows of TPUs lack the module. Both facts
// come from the enclosing event on a line "XLA Modules".

#include <algorithm>

#include <fmt/format.h>

#include "importers/chrome/chrome_import.h"
#include "importers/common/kernel_details.h"
#include "importers/common/op_annotation.h"
#include "importers/common/text_fields.h"

namespace xlatrace::importers::chrome {
namespace {

using model::ActivityKind;
using model::Severity;

constexpr std::string_view kGpuPlane = "/device:GPU:";
constexpr std::string_view kTpuPlane = "/device:TPU:";
constexpr int64_t kEventLimit = 1'000'000;  // XProf cuts its JSON here.

class Xprof final : public Dialect {
 public:
  explicit Xprof(Import& import) : import_(import) {}

  void OnEvent(const ChromeEvent& event) override {
    const int64_t pid = ParseInt(event.pid).value_or(0);
    const int64_t tid = ParseInt(event.tid).value_or(0);
    if (event.phase == 'M') {
      if (event.name == "process_name") AddPlane(pid, event.label);
      if (event.name == "thread_name") line_names_[{pid, tid}] = std::string(event.label);
      return;
    }
    if (event.phase != 'X') return import_.Count("host_event_not_kept");
    ++events_;
    const auto plane = planes_.find(pid);
    if (plane == planes_.end()) return import_.Count("host_event_not_kept");
    switch (plane->second.kind) {
      case Kind::kHost:
        return OnHostEvent(event, pid, tid);
      case Kind::kGpu:
        return OnGpuEvent(event, pid, tid);
      case Kind::kTpu:
        return OnTpuEvent(event, pid, tid);
    }
  }

  Placement Finish() override {
    Placement placement;
    placement.process = import_.sink.AddProcess({});
    NamePrograms();
    std::map<std::pair<Kind, int64_t>, model::Id> devices;
    for (const LaneKey& key : lanes_) {
      const Plane& plane = planes_[key.pid];
      const int64_t ordinal = plane.kind == Kind::kHost ? key.cpu_ordinal : plane.ordinal;
      model::Id& id = devices[{plane.kind, ordinal}];
      if (id == 0) {
        model::Device device;
        device.process_id = placement.process;
        device.ordinal = ordinal;
        device.kind = plane.kind == Kind::kGpu   ? model::DeviceKind::kGpu
                      : plane.kind == Kind::kTpu ? model::DeviceKind::kTpu
                                                 : model::DeviceKind::kCpu;
        device.name = plane.kind == Kind::kGpu   ? "GPU"
                      : plane.kind == Kind::kTpu ? "TPU"
                                                 : "Host CPU";
        id = import_.sink.AddDevice(device);
      }
      model::Lane lane;
      lane.device_id = id;
      lane.stream_id = key.tid;
      lane.name = line_names_[{key.pid, key.tid}];
      placement.lanes.push_back(import_.sink.AddLane(lane));
    }
    if (events_ >= kEventLimit) {
      import_.sink.SetEnding({.process_id = placement.process, .unrecorded_from_ns = INT64_MAX});
      import_.counters.Add("event_limit_reached", Severity::kDataLoss, 1,
                           "XProf writes at most a million events into its JSON; import the "
                           ".xplane.pb file beside it, which holds all");
    }
    if (import_.rows.activities() > 0) {
      import_.counters.Add("hlo_not_in_source", Severity::kNotice, 1,
                           "this JSON holds no HLO; import the .xplane.pb file beside it, or name "
                           "the dump with --modules");
    }
    return placement;
  }

 private:
  enum class Kind : uint8_t { kHost, kGpu, kTpu };
  struct Plane {
    Kind kind = Kind::kHost;
    int64_t ordinal = 0;
  };
  struct LaneKey {
    int64_t pid, tid, cpu_ordinal;
    auto operator<=>(const LaneKey&) const = default;
  };

  // An event of a line "XLA Modules": "jit_f(12)".
  struct ModuleRun {
    int64_t start_ns, end_ns;
    uint32_t name;  // Text of the rows.
    std::optional<int64_t> program_id;
    int64_t run_key;
  };
  // A line "XLA Modules - from #16" is about one stream of the plane, "XLA Modules" about all.
  using RunsKey = std::pair<int64_t, std::string>;

  // A row without its program.
  struct Unnamed {
    size_t row;
    uint32_t saying;  // Index into sayings_.
  };

  static bool IsModuleLine(std::string_view line) { return line.starts_with("XLA Modules"); }

  // "16" of "Stream #16(Kernel)" and of "XLA Modules - from #16"; empty: of all.
  static std::string StreamOf(std::string_view line) {
    const size_t hash = line.find('#');
    if (hash == std::string_view::npos) return {};
    line.remove_prefix(hash + 1);
    return std::string(line.substr(0, line.find_first_not_of("0123456789")));
  }

  void AddModuleRun(const ChromeEvent& event, int64_t pid, std::string_view line) {
    const auto time = import_.Time(event);
    if (!time) return;
    const NameAndId name = SplitTrailingId(event.name);
    module_runs_[{pid, StreamOf(line)}].push_back(
        {time->start_ns, time->end_ns, import_.rows.Text(name.name), name.id, ++last_run_});
    names_.try_emplace(import_.rows.Text(name.name), name.name);
  }

  const ModuleRun* RunAt(const RunsKey& key, int64_t time_ns, const std::string& module) const {
    const auto runs = module_runs_.find(key);
    if (runs == module_runs_.end()) return nullptr;
    auto it =
        std::upper_bound(runs->second.begin(), runs->second.end(), time_ns,
                         [](int64_t time, const ModuleRun& run) { return time < run.start_ns; });
    if (it == runs->second.begin()) return nullptr;
    --it;
    if (time_ns > it->end_ns) return nullptr;
    return module.empty() || names_.at(it->name) == module ? &*it : nullptr;
  }

  void NamePrograms() {
    for (auto& [key, runs] : module_runs_) {
      std::stable_sort(runs.begin(), runs.end(), [](const ModuleRun& a, const ModuleRun& b) {
        return a.start_ns < b.start_ns;
      });
    }
    std::map<std::tuple<uint32_t, uint32_t, std::optional<int64_t>>, uint32_t> hints;
    for (const Unnamed& unnamed : unnamed_) {
      ChromeActivity& row = import_.rows.activity(unnamed.row);
      const LaneKey& lane = lanes_[row.lane];
      const bool is_tpu = planes_[lane.pid].kind == Kind::kTpu;
      model::Hint said = sayings_[unnamed.saying];
      const ModuleRun* run = nullptr;
      if (!module_runs_.empty()) {
        run = RunAt({lane.pid, StreamOf(line_names_[{lane.pid, lane.tid}])}, row.start_ns,
                    said.module_name);
        if (run == nullptr) run = RunAt({lane.pid, {}}, row.start_ns, said.module_name);
      }
      const auto [it, fresh] =
          hints.try_emplace({unnamed.saying, run == nullptr ? UINT32_MAX : run->name,
                             run == nullptr ? std::nullopt : run->program_id},
                            0);
      if (fresh) {
        if (run != nullptr) {
          said.module_name = names_.at(run->name);
          said.program_id = run->program_id;
        }
        it->second = static_cast<uint32_t>(import_.sink.AddHint(said));
      }
      row.hint = it->second;
      // On GPUs executions in a row may be one event.
      if (is_tpu && run != nullptr && row.run_key == 0) row.run_key = run->run_key;
    }
  }

  void AddPlane(int64_t pid, std::string_view name) {
    for (const auto& [prefix, kind] :
         {std::pair(kGpuPlane, Kind::kGpu), std::pair(kTpuPlane, Kind::kTpu)}) {
      if (!name.starts_with(prefix)) continue;
      std::string_view digits = name.substr(prefix.size());
      digits = digits.substr(0, digits.find_first_not_of("0123456789"));
      planes_[pid] = {kind, ParseInt(digits).value_or(0)};
      gpus_ += kind == Kind::kGpu;
    }
    if (name.starts_with("/host:")) planes_[pid] = {};
  }

  uint32_t LaneIndex(const LaneKey& key) {
    const auto [it, fresh] = lane_index_.try_emplace(key, static_cast<uint32_t>(lanes_.size()));
    if (fresh) lanes_.push_back(key);
    return it->second;
  }

  void OnHostEvent(const ChromeEvent& event, int64_t pid, int64_t tid) {
    if (event.name.starts_with("end: ")) return import_.Count("host_event_not_kept");
    if (!event.correlation.empty()) {
      const auto time = import_.Time(event);
      if (!time) return;
      ChromeCall call;
      call.start_ns = time->start_ns;
      call.end_ns = time->end_ns;
      call.correlation = ParseInt(event.correlation).value_or(0);
      call.tid = tid;
      call.name = import_.rows.Text(event.name);
      return import_.rows.Add(call);
    }
    if (!event.hlo_op.empty()) {
      const int64_t ordinal = std::max<int64_t>(0, ParseInt(event.device_ordinal).value_or(0));
      return AddRow(event, {pid, tid, ordinal}, ActivityKind::kOp);
    }
    if (const auto step = ParseInt(event.step_number)) {
      const auto time = import_.Time(event);
      if (!time) return;
      import_.steps.push_back(
          {.number = *step, .start_ns = time->start_ns, .end_ns = time->end_ns});
      return import_.AddRange(pid, tid, *time, event.name);
    }
    // Ranges that explain why a device waited (see xplane_host.cc).
    if (event.name.starts_with("PjitFunction(") || event.name.starts_with("PmapFunction(") ||
        event.name.find("BlockHostUntil") != std::string_view::npos) {
      if (const auto time = import_.Time(event)) import_.AddRange(pid, tid, *time, event.name);
      return;
    }
    import_.Count("host_event_not_kept");
  }

  void OnGpuEvent(const ChromeEvent& event, int64_t pid, int64_t tid) {
    const std::string& line = line_names_[{pid, tid}];
    if (IsModuleLine(line)) AddModuleRun(event, pid, line);
    if (IsDerivedLine(line)) return import_.Count("derived_line");
    const bool says_kernel = !event.kernel_details.empty();
    ActivityKind kind = ActivityKind::kKernel;
    if (!says_kernel && (!event.memcpy_details.empty() || event.name.starts_with("Memcpy"))) {
      kind = ActivityKind::kMemcpy;
    } else if (!says_kernel &&
               (!event.memset_details.empty() || event.name.starts_with("Memset"))) {
      kind = ActivityKind::kMemset;
    } else if (!says_kernel && (event.name.starts_with("CudaGraph") || !event.graph_id.empty())) {
      kind = ActivityKind::kGraph;
    } else if (!says_kernel && !line.starts_with("Stream #")) {
      return import_.Count("device_event_not_kept");
    }
    AddRow(event, {pid, tid, 0}, kind);
  }

  void OnTpuEvent(const ChromeEvent& event, int64_t pid, int64_t tid) {
    const std::string& line = line_names_[{pid, tid}];
    if (IsModuleLine(line)) AddModuleRun(event, pid, line);
    if (line == "XLA TraceMe") return import_.Count("line_not_imported: XLA TraceMe");
    if (line != "XLA Ops") return import_.Count("derived_line");
    AddRow(event, {pid, tid, 0}, ActivityKind::kOp);
  }

  struct Shape {
    uint32_t config = 0;
    uint32_t hint = 0;
    uint32_t saying = UINT32_MAX;  // Without a program: the hint follows at the end.
    int64_t bytes = -1;
  };

  void AddRow(const ChromeEvent& event, const LaneKey& lane, ActivityKind kind) {
    const auto time = import_.Time(event);
    if (!time) return;
    key_.assign(1, static_cast<char>(kind));
    key_ += std::to_string(lane.pid);
    for (const std::string_view part :
         {event.name, event.kernel_details, event.memcpy_details, event.memset_details,
          event.occupancy, event.hlo_op, event.hlo_module, event.program_id, event.op_name_end,
          event.op_name_prefix, event.tf_op, event.category_text, event.source, event.flops,
          event.bytes_accessed, event.long_name}) {
      key_.append(part).push_back('\0');
    }
    const auto [it, fresh] = shapes_.try_emplace(key_);
    if (fresh) it->second = MakeShape(event, lane, kind);
    const Shape& shape = it->second;
    ChromeActivity row;
    row.lane = LaneIndex(lane);
    row.start_ns = time->start_ns;
    row.end_ns = time->end_ns;
    row.correlation = ParseInt(event.correlation).value_or(0);
    row.config = shape.config;
    row.hint = shape.hint;
    row.bytes = shape.bytes;
    row.graph_node_id = ParseInt(event.graph_node_id).value_or(0);
    const int64_t graph = ParseInt(event.graph_id).value_or(0);
    row.graph_id = graph > 0 && graph <= UINT32_MAX ? static_cast<uint32_t>(graph) : 0;
    row.nests = kind == ActivityKind::kOp;
    if (const auto run = ParseInt(event.run_id); run && *run != -1) {
      // Lanes of one CPU device are threads of one run; lanes of a GPU are its streams. As in
      // XPlanes, a run of a GPU has its own number, independent of the program.
      const Kind device = planes_[lane.pid].kind;
      const int64_t program = device == Kind::kGpu ? 0 : ParseInt(event.program_id).value_or(0);
      int64_t& number =
          runs_[{device == Kind::kHost ? -1 : lane.pid, lane.cpu_ordinal, program, *run}];
      if (number == 0) number = ++last_run_;
      row.run_key = number;
    }
    (kind == ActivityKind::kOp ? import_.ops : import_.kernels) +=
        kind == ActivityKind::kOp || kind == ActivityKind::kKernel;
    if (shape.saying != UINT32_MAX) unnamed_.push_back({import_.rows.activities(), shape.saying});
    import_.rows.Add(row);
  }

  // "%fusion.3 = f32[...] fusion(...)" is how TPU profiles name an op.
  static std::string_view InstructionOf(std::string_view name) {
    if (!name.starts_with('%')) return name;
    return name.substr(
        1, name.find(" = ") == std::string_view::npos ? name.npos : name.find(" = ") - 1);
  }

  Shape MakeShape(const ChromeEvent& event, const LaneKey& lane, ActivityKind kind) {
    Shape shape;
    model::LaunchConfig config;
    config.kind = kind;
    const bool is_tpu = planes_[lane.pid].kind == Kind::kTpu;
    config.symbol = std::string(is_tpu ? InstructionOf(event.name) : event.name);
    if (config.symbol.empty()) config.symbol = "(unnamed)";
    config.name = config.symbol;
    if (kind == ActivityKind::kKernel) {
      config.name = ShortKernelName(config.symbol);
      if (!SetLaunchDetails(event.kernel_details, config)) {
        import_.counters.Add("impossible_registers", Severity::kNotice, 1,
                             "the profiler wrote garbage for registers and shared memory of these "
                             "launches; their occupancy is not known");
      }
      if (const auto milli = ParseMilli(event.occupancy);
          milli && *milli > 0 && *milli <= 100'000) {
        config.theoretical_occupancy_milli_pct = milli;
      }
    } else if (kind == ActivityKind::kMemcpy) {
      config.copy_kind =
          CopyKindOfEvent(event.name, event.memcpy_details, planes_[lane.pid].ordinal, gpus_);
      shape.bytes = BytesOfDetails(event.memcpy_details);
    } else if (kind == ActivityKind::kMemset) {
      shape.bytes = BytesOfDetails(event.memset_details);
    }
    shape.config = static_cast<uint32_t>(import_.sink.AddLaunchConfig(config));
    model::Hint hint;
    hint.evidence = model::Evidence::kAnnotation;
    hint.module_name = std::string(event.hlo_module);
    hint.program_id = ParseInt(event.program_id);
    hint.instruction = std::string(InstructionOf(
        event.hlo_op.empty() && is_tpu ? std::string_view(event.name) : event.hlo_op));
    if (!event.op_name_end.empty()) {
      hint.op_name = std::string(event.op_name_end);
      if (!event.op_name_prefix.empty()) {
        hint.op_name.insert(0, std::string(event.op_name_prefix) + "/");
      }
    } else if (is_tpu) {
      hint.op_name = std::string(event.tf_op.substr(0, event.tf_op.rfind(':')));
    } else if (planes_[lane.pid].kind == Kind::kGpu && event.hlo_op.empty() &&
               event.hlo_module.empty() && event.program_id.empty()) {
      // Outside of XLA the profiler names the framework's op.
      const OpAnnotation op = ParseOpAnnotation(event.tf_op);
      if (!op.name.empty()) {
        hint.evidence = model::Evidence::kOpRange;
        hint.op_name = std::string(op.name);
        hint.op_type = std::string(op.type);
        shape.hint = static_cast<uint32_t>(import_.sink.AddHint(hint));
        return shape;
      }
    }
    hint.category = std::string(event.category_text);
    const FileAndLine source = SplitFileLine(event.source);
    hint.source_file = std::string(source.file);
    hint.source_line = source.line;
    hint.flops = ParseInt(event.flops);
    hint.bytes_accessed = ParseInt(event.bytes_accessed);
    if (is_tpu) hint.hlo = std::string(HloLineOf(event.long_name));
    if (hint.module_name.empty() && hint.instruction.empty() && hint.op_name.empty()) return shape;
    if (!hint.program_id && planes_[lane.pid].kind != Kind::kHost) {
      shape.saying = static_cast<uint32_t>(sayings_.size());
      sayings_.push_back(std::move(hint));
    } else {
      shape.hint = static_cast<uint32_t>(import_.sink.AddHint(hint));
    }
    return shape;
  }

  Import& import_;
  int64_t events_ = 0;
  int64_t gpus_ = 0;
  int64_t last_run_ = 0;
  std::string key_;
  std::map<int64_t, Plane> planes_;
  std::map<std::pair<int64_t, int64_t>, std::string> line_names_;
  std::vector<LaneKey> lanes_;
  std::map<LaneKey, uint32_t> lane_index_;
  std::unordered_map<std::string, Shape> shapes_;
  std::map<RunsKey, std::vector<ModuleRun>> module_runs_;
  std::map<uint32_t, std::string> names_;  // Names of modules, by text.
  std::vector<Unnamed> unnamed_;
  std::vector<model::Hint> sayings_;
  // By plane (-1: the host's, whose devices are ordinals), ordinal, program, run.
  std::map<std::tuple<int64_t, int64_t, int64_t, int64_t>, int64_t> runs_;
};

}  // namespace

std::unique_ptr<Dialect> MakeXprof(Import& import) { return std::make_unique<Xprof>(import); }

}  // namespace xlatrace::importers::chrome
