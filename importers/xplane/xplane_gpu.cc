// SPDX-License-Identifier: Apache-2.0

// GPU planes: one lane per stream; kernels, copies, memsets and graph-level rows.

#include <cmath>

#include <fmt/format.h>

#include "importers/common/kernel_details.h"
#include "importers/common/op_annotation.h"
#include "importers/common/text_fields.h"
#include "importers/xplane/xplane_import.h"

namespace xlatrace::importers::xplane {
namespace {

using model::ActivityKind;
using model::Severity;

// Everything of an event that repeats from launch to launch.
struct Shape {
  bool is_activity = true;
  bool has_garbage_registers = false;
  ActivityKind kind = ActivityKind::kKernel;
  model::Id config = 0;
  model::Id hint = 0;
  int64_t bytes = -1;
  int64_t graph_id = 0;
};

// Facts from the stats of one event; views into the file.
struct EventFacts {
  std::string_view kernel_details;
  std::string_view memcpy_details;
  std::string_view memset_details;
  bool is_memory_record = false;
  std::optional<double> occupancy_pct;
  std::string_view hlo_op;
  std::string_view hlo_module;
  std::optional<int64_t> program_id;
  std::string_view op_name_end;
  std::string_view op_name_prefix;
  std::string_view tf_op;
  std::optional<int64_t> graph_id;
};

bool IsVarying(Role role) {
  return role == Role::kNone || role == Role::kCorrelationId || role == Role::kRunId ||
         role == Role::kGraphNodeId || role == Role::kDeviceOrdinal;
}

// NVIDIA: "9.0". AMD's profiler writes the first digits of the target; of gfx94x and gfx95x one
// chip each was ever sold.
std::string Capability(std::string_view vendor, int64_t major, int64_t minor) {
  if (vendor == "AMD" && major == 9 && minor == 4) return "gfx942";
  if (vendor == "AMD" && major == 9 && minor == 5) return "gfx950";
  return fmt::format("{}.{}", major, minor);
}

class GpuPlaneImport {
 public:
  GpuPlaneImport(Import& import, const Plane& plane)
      : import_(import), plane_(plane), roles_(plane) {}

  void Run() {
    AddDevice();
    for (const Line& line : plane_.lines) ImportLine(line);
  }

 private:
  void AddDevice() {
    model::Device device;
    device.process_id = import_.process;
    device.kind = model::DeviceKind::kGpu;
    device.ordinal = ordinal_ = OrdinalOf(plane_.name, kGpuPrefix);
    const std::string vendor(plane_.TextStat("device_vendor"));
    const auto major = plane_.IntStat("compute_cap_major");
    const auto minor = plane_.IntStat("compute_cap_minor");
    if (major && minor) device.compute_capability = Capability(vendor, *major, *minor);
    device.sm_count = plane_.IntStat("core_count");
    if (const auto khz = plane_.IntStat("clock_rate"); khz && *khz > 0 && *khz < 100'000'000) {
      device.clock_hz = *khz * 1000;
    }
    device.memory_bandwidth_bytes_per_s = plane_.IntStat("memory_bandwidth");
    device.memory_bytes = plane_.IntStat("memory_size");
    // XPlanes carry no product name.
    device.name = std::string(plane_.TextStat("device_type_string"));
    if (device.name.empty()) {
      device.name = vendor.empty() ? "GPU" : vendor + " GPU";
      if (device.sm_count) {
        device.name +=
            fmt::format(" ({} {})", *device.sm_count, vendor == "AMD" ? "compute units" : "SMs");
      }
    }
    device_ = import_.DeviceOf(plane_, device);
  }

  void ImportLine(const Line& line) {
    const LineHeader header = ReadLineHeader(line);
    import_.CountDamage(header);
    const std::string& name = header.name.empty() ? header.display_name : header.name;
    if (IsDerivedLine(name)) {
      import_.counters.Add("derived_line", Severity::kInfo);
      return;
    }
    if (header.event_count == 0) return;
    model::Lane lane;
    lane.device_id = device_;
    lane.stream_id = header.id;
    lane.name = name;
    const bool is_stream = name.starts_with("Stream #");
    const int64_t base = import_.LineBase(header.timestamp_ns);
    lane_id_ = 0;
    import_.CountDamagedEvents(
        ForEachEvent(line, [&](const Event& event) { ImportEvent(event, base, lane, is_stream); }));
  }

  void ImportEvent(const Event& event, int64_t base, const model::Lane& lane, bool is_stream) {
    // Without its name, a copy cannot be distinguished from a kernel.
    if (plane_.damaged && !import_.HasName(plane_, event)) return;
    // Shapes are cached by the bytes of everything that is not particular to one launch.
    key_.assign(reinterpret_cast<const char*>(&event.metadata_id), sizeof(event.metadata_id));
    int64_t correlation = 0;
    int64_t node = 0;
    std::optional<int64_t> run_id;
    for (const std::string_view raw : event.stats) {
      const Role role = roles_.Of(ReadStatId(raw));
      if (!IsVarying(role)) {
        key_ += static_cast<char>(raw.size());
        key_.append(raw);
      } else if (role == Role::kCorrelationId) {
        correlation = ReadStat(raw).integer;
      } else if (role == Role::kGraphNodeId) {
        node = ReadStat(raw).integer;
      } else if (role == Role::kRunId) {
        run_id = ReadStat(raw).integer;
      }
    }
    auto it = shapes_.find(key_);
    if (it == shapes_.end()) it = shapes_.emplace(key_, MakeShape(event, is_stream)).first;
    const Shape& shape = it->second;
    if (!shape.is_activity) {
      import_.counters.Add("device_event_not_kept", Severity::kInfo);
      return;
    }
    const std::optional<Interval> time = import_.Time(base, event);
    if (!time) return;
    if (lane_id_ == 0) lane_id_ = import_.sink.AddLane(lane);
    model::Activity activity;
    activity.lane_id = lane_id_;
    activity.config_id = shape.config;
    activity.hint_id = shape.hint;
    activity.api_call_id = import_.ApiCallOf(correlation);
    activity.start_ns = time->start_ns;
    activity.end_ns = time->end_ns;
    activity.bytes = shape.bytes;
    activity.correlation_id = correlation;
    activity.graph_id = shape.graph_id;
    activity.graph_node_id = node;
    if (run_id && *run_id != -1) activity.run_key = import_.RunKey(device_, 0, *run_id);
    if (import_.repeated.IsRepeated(activity)) return;
    import_.AddActivity(activity);
    if (shape.has_garbage_registers) {
      import_.counters.Add("impossible_registers", Severity::kNotice, 1,
                           "the profiler wrote garbage for registers and shared memory of these "
                           "launches; their occupancy is not known");
    }
    if (shape.kind == ActivityKind::kKernel) ++import_.kernels;
  }

  EventFacts ReadFacts(const Event& event) const {
    EventFacts facts;
    for (const std::string_view raw : event.stats) {
      const Stat stat = ReadStat(raw);
      switch (roles_.Of(stat.id)) {
        case Role::kKernelDetails:
          facts.kernel_details = plane_.TextOf(stat);
          break;
        case Role::kMemcpyDetails:
          facts.memcpy_details = plane_.TextOf(stat);
          break;
        case Role::kMemsetDetails:
          facts.memset_details = plane_.TextOf(stat);
          break;
        case Role::kMemoryDetails:
          facts.is_memory_record = true;
          break;
        case Role::kOccupancy:
          facts.occupancy_pct = stat.real;
          break;
        case Role::kHloOp:
          facts.hlo_op = plane_.TextOf(stat);
          break;
        case Role::kHloModule:
          facts.hlo_module = plane_.TextOf(stat);
          break;
        case Role::kProgramId:
          facts.program_id = stat.kind == Stat::Kind::kInt ? std::optional(stat.integer)
                                                           : ParseInt(plane_.TextOf(stat));
          break;
        case Role::kOpNameEnd:
          facts.op_name_end = plane_.TextOf(stat);
          break;
        case Role::kOpNamePrefix:
          facts.op_name_prefix = plane_.TextOf(stat);
          break;
        case Role::kTfOp:
          facts.tf_op = plane_.TextOf(stat);
          break;
        case Role::kGraphId:
          facts.graph_id = stat.integer;
          break;
        default:
          break;
      }
    }
    return facts;
  }

  Shape MakeShape(const Event& event, bool is_stream) {
    const int64_t index = plane_.event_index.Find(event.metadata_id);
    const EventMetadata* metadata =
        index < 0 ? nullptr : &plane_.events[static_cast<size_t>(index)];
    const std::string name(metadata == nullptr ? "" : metadata->name);
    const EventFacts facts = ReadFacts(event);
    Shape shape;
    if (facts.is_memory_record) {
      shape.is_activity = false;
      return shape;
    }
    model::LaunchConfig config;
    config.symbol = name.empty() ? "(unnamed)" : name;
    config.name = config.symbol;
    const bool says_kernel = !facts.kernel_details.empty();
    if (!says_kernel && (!facts.memcpy_details.empty() || name.starts_with("Memcpy"))) {
      config.kind = ActivityKind::kMemcpy;
      config.copy_kind = CopyKindOfEvent(name, facts.memcpy_details, ordinal_, import_.gpu_planes);
      shape.bytes = BytesOfDetails(facts.memcpy_details);
    } else if (!says_kernel && (!facts.memset_details.empty() || name.starts_with("Memset"))) {
      config.kind = ActivityKind::kMemset;
      shape.bytes = BytesOfDetails(facts.memset_details);
    } else if (!says_kernel && (name.starts_with("CudaGraph") || facts.graph_id.has_value())) {
      config.kind = ActivityKind::kGraph;
    } else if (says_kernel || is_stream) {
      config.kind = ActivityKind::kKernel;
      config.name = ShortKernelName(config.symbol);
      SetLaunch(facts, config, shape);
    } else {
      shape.is_activity = false;
      return shape;
    }
    shape.kind = config.kind;
    shape.graph_id = facts.graph_id.value_or(0);
    shape.config = import_.sink.AddLaunchConfig(config);
    shape.hint = AddHint(facts);
    return shape;
  }

  static void SetLaunch(const EventFacts& facts, model::LaunchConfig& config, Shape& shape) {
    const std::string_view details = facts.kernel_details;
    shape.has_garbage_registers = !SetLaunchDetails(details, config);
    // Zero means that the profiler could not compute it.
    if (facts.occupancy_pct && *facts.occupancy_pct > 0 && *facts.occupancy_pct <= 100) {
      config.theoretical_occupancy_milli_pct = std::llround(*facts.occupancy_pct * 1000);
    } else if (const auto milli = ParseMilli(DetailField(details, "occ_pct"));
               milli && *milli > 0 && *milli <= 100'000) {
      config.theoretical_occupancy_milli_pct = milli;
    }
  }

  model::Id AddHint(const EventFacts& facts) {
    model::Hint hint;
    hint.evidence = model::Evidence::kAnnotation;
    hint.module_name = std::string(facts.hlo_module);
    hint.program_id = facts.program_id;
    hint.instruction = std::string(facts.hlo_op);
    if (hint.instruction.starts_with('%')) hint.instruction.erase(0, 1);
    // tf_op repeats the annotation's head ("XlaModule:") under XLA; without XLA it is "name:type".
    if (!facts.op_name_end.empty()) {
      hint.op_name = std::string(facts.op_name_end);
      if (!facts.op_name_prefix.empty()) {
        hint.op_name.insert(0, std::string(facts.op_name_prefix) + "/");
      }
    } else if (facts.hlo_op.empty() && facts.hlo_module.empty() && !facts.program_id) {
      const OpAnnotation op = ParseOpAnnotation(facts.tf_op);
      if (!op.name.empty()) hint.evidence = model::Evidence::kOpRange;
      hint.op_name = std::string(op.name);
      hint.op_type = std::string(op.type);
    }
    if (hint.module_name.empty() && hint.instruction.empty() && hint.op_name.empty()) return 0;
    return import_.sink.AddHint(hint);
  }

  Import& import_;
  const Plane& plane_;
  const Roles roles_;
  int64_t ordinal_ = 0;
  model::Id device_ = 0;
  model::Id lane_id_ = 0;
  std::string key_;
  std::unordered_map<std::string, Shape> shapes_;
};

}  // namespace

void ImportGpuPlane(Import& import, const Plane& plane) { GpuPlaneImport(import, plane).Run(); }

}  // namespace xlatrace::importers::xplane
