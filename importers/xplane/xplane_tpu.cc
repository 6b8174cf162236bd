// SPDX-License-Identifier: Apache-2.0

// TPU planes: ops of the line "XLA Ops", runs of the line "XLA Modules".

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "importers/common/self_time.h"
#include "importers/common/text_fields.h"
#include "importers/xplane/xplane_import.h"

namespace xlatrace::importers::xplane {
namespace {

using model::Severity;

// One event of "XLA Modules".
struct ModuleRun {
  Interval time;
  NameAndId name;
  int64_t run_key = 0;
};

// "%fusion.3 = f32[8] fusion(...)" -> "fusion.3"; other names stay.
std::string_view InstructionOf(const EventMetadata& metadata) {
  std::string_view name = metadata.name;
  if (!name.starts_with('%')) {
    return metadata.display_name.empty() ? name : metadata.display_name;
  }
  name.remove_prefix(1);
  return name.substr(0, name.find(" = "));
}

// tf_op is "op_name:op_type"; JAX leaves the type empty. Colons inside op_names (combined
// collectives, "(a:b)") are followed by something that is no type.
std::string_view OpNameOf(std::string_view tf_op) {
  const size_t colon = tf_op.rfind(':');
  if (colon == std::string_view::npos) return tf_op;
  for (const char c : tf_op.substr(colon + 1)) {
    const bool word =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!word) return tf_op;
  }
  return tf_op.substr(0, colon);
}

class TpuPlaneImport {
 public:
  TpuPlaneImport(Import& import, const Plane& plane)
      : import_(import), plane_(plane), roles_(plane) {}

  void Run() {
    AddDevice();
    // Runs first: the ops refer to them.
    for (const bool modules : {true, false}) {
      for (const Line& line : plane_.lines) {
        const LineHeader header = ReadLineHeader(line);
        if (modules == (header.name == "XLA Modules")) ImportLine(line, header);
        FlushOps();
      }
      std::stable_sort(runs_.begin(), runs_.end(), [](const ModuleRun& a, const ModuleRun& b) {
        return a.time.start_ns < b.time.start_ns;
      });
    }
  }

 private:
  void AddDevice() {
    model::Device device;
    device.process_id = import_.process;
    device.kind = model::DeviceKind::kTpu;
    device.ordinal = OrdinalOf(plane_.name, kTpuPrefix);
    device.name = std::string(plane_.TextStat("device_type_string"));
    if (device.name.empty()) device.name = "TPU";
    const auto bandwidth = plane_.RealStat("peak_hbm_bw_gigabytes_per_second");
    if (bandwidth && *bandwidth > 0 && *bandwidth < 1e9) {
      device.memory_bandwidth_bytes_per_s = std::llround(*bandwidth * 1e9);
    }
    const auto peak = plane_.RealStat("peak_teraflops_per_second");
    if (peak && *peak > 0) {
      import_.sink.SetRunInfo("peak_teraflops_per_second", fmt::format("{}", *peak));
    }
    device_ = import_.DeviceOf(plane_, device);
  }

  void ImportLine(const Line& line, const LineHeader& header) {
    const int64_t base = import_.LineBase(header.timestamp_ns);
    import_.CountDamage(header);
    if (header.name == "XLA Modules") {
      import_.CountDamagedEvents(
          ForEachEvent(line, [&](const Event& event) { AddRun(event, base); }));
    } else if (header.name == "XLA Ops") {
      model::Lane lane;
      lane.device_id = device_;
      lane.stream_id = header.id;
      lane.name = header.name;
      lane_ = import_.sink.AddLane(lane);
      import_.CountDamagedEvents(
          ForEachEvent(line, [&](const Event& event) { AddOp(event, base); }));
    } else if (header.name == "Async XLA Ops") {
      import_.counters.Add("async_op_not_counted", Severity::kInfo, header.event_count);
    } else if (header.name != "Steps" && header.event_count > 0) {
      import_.counters.Add("line_not_imported: " + header.name.substr(0, 60), Severity::kInfo,
                           header.event_count);
    }
  }

  void AddRun(const Event& event, int64_t base) {
    const std::optional<Interval> time = import_.Time(base, event);
    const int64_t index = plane_.event_index.Find(event.metadata_id);
    if (!time || !import_.HasName(plane_, event)) return;
    runs_.push_back({*time, SplitTrailingId(plane_.events[static_cast<size_t>(index)].name),
                     import_.NewRunKey()});
  }

  const ModuleRun* RunAt(int64_t time_ns) const {
    auto it = std::upper_bound(
        runs_.begin(), runs_.end(), time_ns,
        [](int64_t time, const ModuleRun& run) { return time < run.time.start_ns; });
    if (it == runs_.begin()) return nullptr;
    --it;
    return time_ns <= it->time.end_ns ? &*it : nullptr;
  }

  void AddOp(const Event& event, int64_t base) {
    const std::optional<Interval> time = import_.Time(base, event);
    if (!time) return;
    if (!import_.HasName(plane_, event)) return;
    const int64_t index = plane_.event_index.Find(event.metadata_id);
    Facts& facts = FactsOf(static_cast<size_t>(index));
    const ModuleRun* run = RunAt(time->start_ns);
    if (run != nullptr && facts.program_id && run->name.id && *facts.program_id != *run->name.id) {
      run = nullptr;
    }
    model::Activity activity;
    activity.lane_id = lane_;
    activity.config_id = facts.config;
    activity.hint_id = HintOf(facts, run);
    activity.start_ns = time->start_ns;
    activity.end_ns = time->end_ns;
    activity.run_key = run == nullptr ? 0 : run->run_key;
    if (import_.repeated.IsRepeated(activity)) return;
    ops_.push_back(activity);
    ++import_.ops;
  }

  // Facts from the metadata of an op, once per op.
  struct Facts {
    bool known = false;
    model::Id config = 0;
    std::optional<int64_t> program_id;
    model::Hint hint;
    // Hints by module, which may share a name: one, unless an op's metadata serves two modules.
    std::string_view hint_module;
    std::optional<int64_t> hint_program;
    model::Id hint_id = 0;
  };

  Facts& FactsOf(size_t index) {
    if (facts_.empty()) facts_.resize(plane_.events.size());
    Facts& facts = facts_[index];
    if (facts.known) return facts;
    const EventMetadata& metadata = plane_.events[index];
    facts.hint.evidence = model::Evidence::kAnnotation;
    facts.hint.instruction = std::string(InstructionOf(metadata));
    facts.hint.hlo = std::string(HloLineOf(metadata.name));
    for (const std::string_view raw : metadata.stats) {
      const Stat stat = ReadStat(raw);
      switch (roles_.Of(stat.id)) {
        case Role::kProgramId:
          if (stat.kind == Stat::Kind::kInt) facts.program_id = stat.integer;
          break;
        case Role::kTfOp:
          facts.hint.op_name = std::string(OpNameOf(plane_.TextOf(stat)));
          break;
        case Role::kCategory:
          facts.hint.category = std::string(plane_.TextOf(stat));
          break;
        case Role::kSource: {
          const FileAndLine source = SplitFileLine(plane_.TextOf(stat));
          facts.hint.source_file = std::string(source.file);
          facts.hint.source_line = source.line;
          break;
        }
        case Role::kFlops:
          if (stat.kind == Stat::Kind::kInt) facts.hint.flops = stat.integer;
          break;
        case Role::kBytesAccessed:
          if (stat.kind == Stat::Kind::kInt) facts.hint.bytes_accessed = stat.integer;
          break;
        default:
          break;
      }
    }
    facts.hint.program_id = facts.program_id;
    model::LaunchConfig config;
    config.kind = model::ActivityKind::kOp;
    config.symbol = facts.hint.instruction.empty() ? "(unnamed)" : facts.hint.instruction;
    config.name = config.symbol;
    facts.config = import_.sink.AddLaunchConfig(config);
    facts.known = true;  // Last: reading damaged stats throws.
    return facts;
  }

  model::Id HintOf(Facts& facts, const ModuleRun* run) {
    const std::string_view module = run == nullptr ? std::string_view() : run->name.name;
    const std::optional<int64_t> program =
        facts.program_id || run == nullptr ? facts.program_id : run->name.id;
    if (facts.hint_id == 0 || facts.hint_module != module || facts.hint_program != program) {
      facts.hint_module = module;
      facts.hint_program = program;
      facts.hint.module_name = std::string(module);
      facts.hint.program_id = program;
      facts.hint_id = import_.sink.AddHint(facts.hint);
    }
    return facts.hint_id;
  }

  void FlushOps() {
    SortAndSetSelfTimes(ops_);
    for (const model::Activity& op : ops_) import_.AddActivity(op);
    ops_.clear();
  }

  Import& import_;
  const Plane& plane_;
  const Roles roles_;
  model::Id device_ = 0;
  model::Id lane_ = 0;
  std::vector<ModuleRun> runs_;
  std::vector<Facts> facts_;  // By position in plane_.events.
  std::vector<model::Activity> ops_;
};

}  // namespace

void ImportTpuPlane(Import& import, const Plane& plane) { TpuPlaneImport(import, plane).Run(); }

void ImportStepsLine(Import& import, const Plane& plane, const Line& line) {
  const int64_t base = import.LineBase(ReadLineHeader(line).timestamp_ns);
  ForEachEvent(line, [&](const Event& event) {
    const int64_t index = plane.event_index.Find(event.metadata_id);
    if (index < 0) return;
    const EventMetadata& metadata = plane.events[static_cast<size_t>(index)];
    std::optional<int64_t> number = ParseInt(metadata.name);
    if (!number) number = ParseInt(metadata.display_name);
    const std::optional<Interval> time = number ? import.Time(base, event) : std::nullopt;
    if (!time) return;
    import.sink.AddStepMark({.process_id = import.process,
                             .number = *number,
                             .start_ns = time->start_ns,
                             .end_ns = time->end_ns});
    ++import.step_marks;
  });
}

}  // namespace xlatrace::importers::xplane
