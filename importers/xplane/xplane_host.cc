// SPDX-License-Identifier: Apache-2.0

// Host planes: ops of XLA:CPU, API calls of GPU runtimes, step marks, compilations, useful ranges.

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "importers/common/compile_stage.h"
#include "importers/common/kept_calls.h"
#include "importers/common/op_annotation.h"
#include "importers/common/self_time.h"
#include "importers/common/text_fields.h"
#include "importers/xplane/xplane.h"
#include "importers/xplane/xplane_import.h"

namespace xlatrace::importers::xplane {
namespace {

using model::Severity;

enum class NameClass : uint8_t {
  kNotSeen,
  kPlain,
  kEndMarker,
  kRange,
  kUserRange,
  kPythonCall,  // Call of a function with a file and a line: "$train.py:12 step".
  kBuiltinCall,
  kCompile,
  kCompilerPart,
  kThreadMark,  // "xlatrace_thread=12": the kernel's number of the line's thread.
};

// A call of a Python function that is shorter than the shortest gap explains no idle time.
constexpr int64_t kMinPythonCallNs = 1'000;
// A tracer records millions of calls. A thread with more keeps the longest.
constexpr size_t kMaxCallsPerLine = 20'000;

// A shorter part of a compilation is of no interest, and there are thousands.
constexpr int64_t kMinCompilerPartNs = 1'000'000;
// The Python hook makes this event at the start of a profile. Lines have other numbers than
// threads.
constexpr std::string_view kThreadMark = "xlatrace_thread=";

// Events that frameworks and their runtimes make of their own work.
bool IsRuntimeEvent(std::string_view name) {
  if (name.empty() || Has(name, "::") || Has(name, ":#")) return true;
  for (const std::string_view start : {"D2D",
                                       "ThreadpoolListener",
                                       "Thunk",
                                       "ParseArguments",
                                       "CollectGarbage",
                                       "DevicePut",
                                       "PyArray",
                                       "PyExecuteHelper",
                                       "ExecutorState",
                                       "Executor",
                                       "Eager",
                                       "RunGraph",
                                       "Tfrt",
                                       "Xla",
                                       "TSL",
                                       "Await",
                                       "Rendezvous",
                                       "Wait",
                                       "Transfer",
                                       "Copy"}) {
    if (name.starts_with(start)) return true;
  }
  return false;
}

NameClass ClassOfName(std::string_view name) {
  if (name.starts_with('$')) {
    const bool is_builtin = name.starts_with("$<") || name.starts_with("$builtins");
    return is_builtin ? NameClass::kBuiltinCall : NameClass::kPythonCall;
  }
  if (name.starts_with(kThreadMark)) return NameClass::kThreadMark;
  if (name.starts_with("end: ")) return NameClass::kEndMarker;
  // A tf.function is traced where it is called with another shape or type: what follows compiles
  // it.
  if (Has(name, "Client::Compile") || name.starts_with("XlaCompile:") || name == model::kTracing) {
    return NameClass::kCompile;
  }
  if (Has(name, "Compiler::RunBackend") || Has(name, "Compiler::RunHloPasses")) {
    return NameClass::kCompilerPart;
  }
  // Work of the host while a device waited: dispatch, transfers, waits, input (also under the names
  // of users' annotations).
  for (const std::string_view part :
       {"BufferFromHostBuffer", "TransferToDevice", "TransferFromDevice", "CopyToHost", "::Await",
        "BlockHostUntil", "IteratorGetNext", "DataLoader", "data_loader", "next_batch",
        "load_batch", "input_pipeline"}) {
    if (Has(name, part)) return NameClass::kRange;
  }
  if (name.starts_with("PjitFunction(") || name.starts_with("PmapFunction(") ||
      name == "Iterator::Root") {
    return NameClass::kRange;
  }
  return IsRuntimeEvent(name) ? NameClass::kPlain : NameClass::kUserRange;
}

// A kept range of one line, before its depth is known.
struct HostRange {
  Interval time;
  std::string_view text;
};

struct NamedInterval {
  Interval time;
  std::string name;  // Copied, because its event is gone when the name is used.
};

// Facts from the stats of an op, and its ids.
struct OpShape {
  model::Id config = 0;
  model::Id hint = 0;
  int64_t program_id = 0;
};

struct HostEventFacts {
  bool has_correlation = false;
  int64_t correlation = 0;
  bool has_op = false;
  bool has_module = false;
  std::optional<int64_t> step;
  std::optional<int64_t> run_id;
  int64_t ordinal = 0;
  std::string_view module_text;  // "name" or "module" of compiler events.
};

class HostPlaneImport {
 public:
  HostPlaneImport(Import& import, const Plane& plane)
      : import_(import),
        plane_(plane),
        roles_(plane),
        classes_(plane.events.size(), NameClass::kNotSeen) {}

  void Run() {
    for (const Line& line : plane_.lines) {
      ImportLine(line);
      FlushLine();
    }
    import_.counters.Add("host_event_not_kept", Severity::kInfo, not_kept_);
    import_.counters.Add("python_call_folded", Severity::kInfo, folded_calls_,
                         "short calls of Python functions are part of the call around them");
    AddCollectiveOps();
  }

 private:
  // NCCL's threads launch TensorFlow's collectives; only events of the host have their names.
  void AddCollectiveOps() {
    for (const auto& event : plane_.events) {
      const OpAnnotation op = ParseOpAnnotation(event.name);
      if (!IsCollectiveType(op.type)) continue;
      import_.sink.AddHint({.evidence = model::Evidence::kOpRange,
                            .op_name = std::string(op.name),
                            .op_type = std::string(op.type)});
    }
  }

  void ImportLine(const Line& line) {
    const LineHeader header = ReadLineHeader(line);
    import_.CountDamage(header);
    thread_id_ = header.id;
    line_name_ = header.name.empty() ? header.display_name : header.name;
    const int64_t base = import_.LineBase(header.timestamp_ns);
    import_.CountDamagedEvents(
        ForEachEvent(line, [&](const Event& event) { ImportEvent(event, base); }));
  }

  std::string_view NameOf(int64_t index) const {
    return index < 0 ? std::string_view() : plane_.events[static_cast<size_t>(index)].name;
  }

  NameClass ClassOf(int64_t index) {
    if (index < 0) return NameClass::kPlain;
    NameClass& name_class = classes_[static_cast<size_t>(index)];
    if (name_class == NameClass::kNotSeen) name_class = ClassOfName(NameOf(index));
    return name_class;
  }

  static bool IsShort(const Event& event) { return event.duration_ps < kMinPythonCallNs * 1000; }

  HostEventFacts ReadFacts(const Event& event) {
    HostEventFacts facts;
    key_.assign(reinterpret_cast<const char*>(&event.metadata_id), sizeof(event.metadata_id));
    for (const std::string_view raw : event.stats) {
      const Role role = roles_.Of(ReadStatId(raw));
      switch (role) {
        case Role::kNone:
          break;
        case Role::kCorrelationId:
          facts.has_correlation = true;
          facts.correlation = ReadStat(raw).integer;
          break;
        case Role::kRunId:
          facts.run_id = ReadStat(raw).integer;
          break;
        case Role::kDeviceOrdinal:
          facts.ordinal = ReadStat(raw).integer;
          break;
        case Role::kStepNumber:
          facts.step = ReadStat(raw).integer;
          break;
        case Role::kHloOp:
        case Role::kHloModule:
        case Role::kProgramId:
          facts.has_op |= role == Role::kHloOp;
          facts.has_module |= role != Role::kHloOp;
          key_ += static_cast<char>(raw.size());
          key_.append(raw);
          break;
        case Role::kOpNameEnd:
        case Role::kModuleOfPass:
          facts.module_text = plane_.TextOf(ReadStat(raw));
          break;
        default:
          break;
      }
    }
    return facts;
  }

  // Whether a damaged plane still has the names that an event refers to.
  bool IsReadable(const Event& event) {
    if (!import_.HasName(plane_, event)) return false;
    for (const std::string_view raw : event.stats) {
      if (plane_.stat_index.Find(ReadStatId(raw)) >= 0) continue;
      import_.CountDamagedEvents(1);
      return false;
    }
    return true;
  }

  void ImportEvent(const Event& event, int64_t base) {
    if (plane_.damaged && !IsReadable(event)) return;
    const int64_t index = plane_.event_index.Find(event.metadata_id);
    const NameClass name_class = ClassOf(index);
    if (name_class == NameClass::kThreadMark) {
      const std::string_view number = NameOf(index).substr(kThreadMark.size());
      std::from_chars(number.data(), number.data() + number.size(), thread_id_);
      return;
    }
    const bool plain = name_class == NameClass::kPlain || name_class == NameClass::kUserRange;
    if ((plain || name_class == NameClass::kCompilerPart) &&
        event.duration_ps >= kMinCompilerPartNs * 1000) {
      if (const auto time = import_.Time(base, event))
        long_events_.push_back({*time, NameOf(index)});
    }
    if (event.stats.empty() && name_class == NameClass::kPlain) {
      ++not_kept_;
      return;
    }
    if (name_class == NameClass::kPythonCall || name_class == NameClass::kBuiltinCall) {
      AddPythonCall(event, base, index);
      return;
    }
    HostEventFacts facts;
    if (!event.stats.empty()) facts = ReadFacts(event);
    if (facts.has_correlation) {
      AddCall(event, facts, base, NameOf(index));
    } else if (facts.has_op && name_class != NameClass::kEndMarker) {
      AddOp(event, facts, base, NameOf(index));
    } else if (facts.step) {
      AddStep(event, facts, base, NameOf(index));
    } else if (plain && (!event.stats.empty() || name_class == NameClass::kPlain)) {
      if (facts.has_module && facts.run_id) {
        import_.counters.Add("op_without_hlo_op", Severity::kNotice, 1,
                             "these events look like ops but do not name their instruction");
      }
      ++not_kept_;
    } else if (name_class == NameClass::kRange || name_class == NameClass::kUserRange) {
      AddRange(event, base, NameOf(index));
    } else if (name_class == NameClass::kCompile || name_class == NameClass::kCompilerPart) {
      if (const auto time = import_.Time(base, event)) {
        const bool part = name_class == NameClass::kCompilerPart;
        (part ? compiler_parts_ : compiles_)
            .push_back({*time, std::string(part ? facts.module_text : NameOf(index))});
      }
    }
  }

  void AddCall(const Event& event, const HostEventFacts& facts, int64_t base,
               std::string_view name) {
    const std::optional<Interval> time = import_.Time(base, event);
    if (!time) return;
    const HostCall call{name, thread_id_, time->start_ns, time->end_ns, 0};
    if (facts.correlation == 0 || !import_.calls.emplace(facts.correlation, call).second) {
      import_.CountCall(name);
    }
  }

  void AddOp(const Event& event, const HostEventFacts& facts, int64_t base, std::string_view name) {
    const std::optional<Interval> time = import_.Time(base, event);
    if (!time) return;
    auto it = shapes_.find(key_);
    if (it == shapes_.end()) it = shapes_.emplace(key_, MakeShape(event, name)).first;
    const OpShape& shape = it->second;
    const int64_t ordinal = std::max<int64_t>(facts.ordinal, 0);
    const model::Id device = DeviceOf(ordinal);
    model::Activity activity;
    activity.lane_id = LaneOf(device);
    activity.config_id = shape.config;
    activity.hint_id = shape.hint;
    activity.start_ns = time->start_ns;
    activity.end_ns = time->end_ns;
    if (facts.run_id && *facts.run_id != -1) {
      activity.run_key = import_.RunKey(device, shape.program_id, *facts.run_id);
    }
    if (import_.repeated.IsRepeated(activity)) return;
    ops_.push_back(activity);
    ++import_.ops;
  }

  OpShape MakeShape(const Event& event, std::string_view name) {
    model::Hint hint;
    hint.evidence = model::Evidence::kAnnotation;
    for (const std::string_view raw : event.stats) {
      const Stat stat = ReadStat(raw);
      switch (roles_.Of(stat.id)) {
        case Role::kHloOp:
          hint.instruction = std::string(plane_.TextOf(stat));
          break;
        case Role::kHloModule:
          hint.module_name = std::string(plane_.TextOf(stat));
          break;
        case Role::kProgramId:
          if (stat.kind == Stat::Kind::kInt) hint.program_id = stat.integer;
          break;
        default:
          break;
      }
    }
    if (hint.instruction.starts_with('%')) hint.instruction.erase(0, 1);
    model::LaunchConfig config;
    config.kind = model::ActivityKind::kOp;
    config.symbol = std::string(name.empty() ? std::string_view(hint.instruction) : name);
    config.name = config.symbol;
    return {import_.sink.AddLaunchConfig(config), import_.sink.AddHint(hint),
            hint.program_id.value_or(0)};
  }

  model::Id DeviceOf(int64_t ordinal) {
    model::Id& id = import_.cpu_devices[ordinal];
    if (id == 0) {
      model::Device device;
      device.process_id = import_.process;
      device.kind = model::DeviceKind::kCpu;
      device.ordinal = ordinal;
      device.name = "Host CPU";
      id = import_.sink.AddDevice(device);
    }
    return id;
  }

  model::Id LaneOf(model::Id device) {
    if (lane_device_ != device) {
      model::Lane lane;
      lane.device_id = device;
      lane.stream_id = thread_id_;
      lane.name = line_name_;
      lane_ = import_.sink.AddLane(lane);
      lane_device_ = device;
    }
    return lane_;
  }

  void AddStep(const Event& event, const HostEventFacts& facts, int64_t base,
               std::string_view name) {
    const std::optional<Interval> time = import_.Time(base, event);
    if (!time) return;
    import_.sink.AddStepMark({.process_id = import_.process,
                              .number = *facts.step,
                              .start_ns = time->start_ns,
                              .end_ns = time->end_ns});
    ++import_.step_marks;
    ranges_.push_back({*time, name});
  }

  // "$profiler.py:226 stop_trace" of JAX, "$profiler_v2.py:144 stop" of TensorFlow.
  static bool StopsTheProfiler(std::string_view name) {
    if (!name.starts_with("$profiler")) return false;
    const size_t function = name.find(' ');
    return function != std::string_view::npos && name.substr(function + 1).starts_with("stop");
  }

  void AddPythonCall(const Event& event, int64_t base, int64_t index) {
    if (StopsTheProfiler(NameOf(index))) {
      if (const auto time = import_.Time(base, event)) import_.stop_call_ns = time->start_ns;
    }
    if (ClassOf(index) == NameClass::kBuiltinCall || IsShort(event)) {
      ++folded_calls_;
      return;
    }
    if (const auto time = import_.Time(base, event))
      python_calls_.push_back({*time, NameOf(index)});
  }

  // Keeps the longest calls of the line, as many as the limits allow.
  void ChoosePythonCalls() {
    const auto left =
        static_cast<size_t>(std::max<int64_t>(kMaxHostRanges - import_.host_ranges, 0));
    const size_t kept = std::min({python_calls_.size(), kMaxCallsPerLine, left});
    const auto length = [](const HostRange& of) { return of.time.end_ns - of.time.start_ns; };
    if (kept < python_calls_.size()) {
      std::stable_sort(
          python_calls_.begin(), python_calls_.end(),
          [&](const HostRange& a, const HostRange& b) { return length(a) > length(b); });
    }
    folded_calls_ += static_cast<int64_t>(python_calls_.size() - kept);
    import_.host_ranges += static_cast<int64_t>(kept);
    ranges_.insert(ranges_.end(), python_calls_.begin(),
                   python_calls_.begin() + static_cast<std::ptrdiff_t>(kept));
    python_calls_.clear();
  }

  void AddRange(const Event& event, int64_t base, std::string_view name) {
    if (import_.host_ranges >= kMaxHostRanges) {
      import_.counters.Add("host_range_over_limit", Severity::kNotice, 1,
                           "host ranges beyond the limit were left out; gaps late in the run may "
                           "lack their cause");
      return;
    }
    const std::optional<Interval> time = import_.Time(base, event);
    if (!time) return;
    ++import_.host_ranges;
    ranges_.push_back({*time, name});
  }

  void FlushLine() {
    SortAndSetSelfTimes(ops_);
    for (const model::Activity& op : ops_) import_.AddActivity(op);
    ops_.clear();
    FlushCompiles();
    ChoosePythonCalls();
    FlushRanges();
    lane_device_ = 0;
  }

  void FlushRanges() {
    std::stable_sort(ranges_.begin(), ranges_.end(), [](const HostRange& a, const HostRange& b) {
      if (a.time.start_ns != b.time.start_ns) return a.time.start_ns < b.time.start_ns;
      return a.time.end_ns > b.time.end_ns;
    });
    std::vector<int64_t> open_ends;
    for (const HostRange& range : ranges_) {
      while (!open_ends.empty() && open_ends.back() <= range.time.start_ns) open_ends.pop_back();
      import_.sink.AddRange({.process_id = import_.process,
                             .thread_id = thread_id_,
                             .domain = {},
                             .text = range.text,
                             .start_ns = range.time.start_ns,
                             .end_ns = range.time.end_ns,
                             .depth = static_cast<int32_t>(open_ends.size())});
      open_ends.push_back(range.time.end_ns);
    }
    ranges_.clear();
  }

  model::Id ModuleOfName(std::string_view name) const {
    const auto known = import_.modules.find(name);
    return known != import_.modules.end() && known->second.second == 1 ? known->second.first : 0;
  }

  // A compilation is the outermost compile event; a compiler event inside names its module.
  // TensorFlow calls XLA's compiler without an enclosing client event. Then the module's events
  // outside of any compile event (its passes, its backend) form a compilation, too.
  void FlushCompiles() {
    const auto by_start = [](const NamedInterval& a, const NamedInterval& b) {
      if (a.time.start_ns != b.time.start_ns) return a.time.start_ns < b.time.start_ns;
      return a.time.end_ns > b.time.end_ns;
    };
    std::stable_sort(compiles_.begin(), compiles_.end(), by_start);
    std::stable_sort(compiler_parts_.begin(), compiler_parts_.end(), by_start);
    AddBareParts(by_start);
    int64_t covered_until = INT64_MIN;
    size_t part = 0;
    for (const NamedInterval& compile : compiles_) {
      if (compile.time.end_ns <= covered_until) continue;
      covered_until = compile.time.end_ns;
      while (part < compiler_parts_.size() &&
             compiler_parts_[part].time.start_ns < compile.time.start_ns) {
        ++part;
      }
      std::string_view name = compile.name;
      model::Id module = 0;
      if (part < compiler_parts_.size() &&
          compiler_parts_[part].time.end_ns <= compile.time.end_ns &&
          !compiler_parts_[part].name.empty()) {
        name = compiler_parts_[part].name;
        module = ModuleOfName(name);
      }
      import_.sink.AddCompile({.process_id = import_.process,
                               .module_id = module,
                               .name = name,
                               .start_ns = compile.time.start_ns,
                               .end_ns = compile.time.end_ns,
                               .stage = name == model::kTracing ? model::CompileStage::kTrace
                                                                : model::CompileStage::kCompile});
      AddParts(compile, module);
    }
    compiles_.clear();
    compiler_parts_.clear();
    long_events_.clear();
  }

  // The events inside a compilation, on its thread, are its passes and its code generation.
  void AddParts(const NamedInterval& compile, model::Id module) {
    if (compile.name == model::kTracing) return;
    const auto by_start = [](const HostRange& a, const HostRange& b) {
      if (a.time.start_ns != b.time.start_ns) return a.time.start_ns < b.time.start_ns;
      return a.time.end_ns > b.time.end_ns;
    };
    if (!std::is_sorted(long_events_.begin(), long_events_.end(), by_start)) {
      std::stable_sort(long_events_.begin(), long_events_.end(), by_start);
    }
    auto event = std::lower_bound(
        long_events_.begin(), long_events_.end(), compile.time.start_ns,
        [](const HostRange& range, int64_t time) { return range.time.start_ns < time; });
    struct Open {
      int64_t end_ns;
      model::CompileStage stage;
    };
    std::vector<Open> open;
    for (; event != long_events_.end() && event->time.start_ns < compile.time.end_ns; ++event) {
      if (event->time.end_ns > compile.time.end_ns) continue;
      while (!open.empty() && open.back().end_ns <= event->time.start_ns) open.pop_back();
      const model::CompileStage stage = StageOfCompilerRange(
          event->text, open.empty() ? model::CompileStage::kCompile : open.back().stage);
      open.push_back({event->time.end_ns, stage});
      if (stage == model::CompileStage::kCompile) continue;
      import_.sink.AddCompile({.process_id = import_.process,
                               .module_id = module,
                               .name = event->text,
                               .start_ns = event->time.start_ns,
                               .end_ns = event->time.end_ns,
                               .stage = stage});
    }
  }

  template <typename ByStart>
  void AddBareParts(const ByStart& by_start) {
    int64_t covered_until = INT64_MIN;
    size_t compile = 0;
    std::vector<NamedInterval> bare;
    for (const NamedInterval& part : compiler_parts_) {
      while (compile < compiles_.size() && compiles_[compile].time.start_ns <= part.time.start_ns) {
        covered_until = std::max(covered_until, compiles_[compile++].time.end_ns);
      }
      if (part.time.start_ns < covered_until) continue;
      // Passes and backend follow each other; the same name much later is compiled again.
      const auto length = [](const NamedInterval& of) { return of.time.end_ns - of.time.start_ns; };
      if (!bare.empty() && bare.back().name == part.name &&
          part.time.start_ns - bare.back().time.end_ns <= length(bare.back()) + length(part)) {
        bare.back().time.end_ns = std::max(bare.back().time.end_ns, part.time.end_ns);
      } else {
        bare.push_back(part);
      }
    }
    compiles_.insert(compiles_.end(), bare.begin(), bare.end());
    std::stable_sort(compiles_.begin(), compiles_.end(), by_start);
  }

  Import& import_;
  const Plane& plane_;
  const Roles roles_;
  std::vector<NameClass> classes_;  // By position in plane_.events.
  std::unordered_map<std::string, OpShape> shapes_;
  std::string key_;
  int64_t not_kept_ = 0;
  int64_t folded_calls_ = 0;

  // The line being read.
  int64_t thread_id_ = 0;
  std::string line_name_;
  model::Id lane_ = 0;
  model::Id lane_device_ = 0;
  std::vector<model::Activity> ops_;
  std::vector<HostRange> ranges_;
  std::vector<HostRange> python_calls_;
  std::vector<NamedInterval> compiles_;
  std::vector<NamedInterval> compiler_parts_;
  std::vector<HostRange> long_events_;  // Candidates for parts of a compilation.
};

}  // namespace

void ImportHostPlane(Import& import, const Plane& plane) { HostPlaneImport(import, plane).Run(); }

void Import::CountCall(std::string_view name) {
  constexpr size_t kMaxNames = 1000;  // CUDA has some hundred; more is a hostile file.
  if (call_names.size() < kMaxNames) call_names.emplace(name);
  const bool known = call_names.find(name) != call_names.end();
  counters.Add("api_call_not_kept: " + std::string(known ? name : "others"), Severity::kInfo);
}

void FinishHostCalls(Import& import) {
  std::vector<int64_t> kept;
  for (const auto& [correlation, call] : import.calls) {
    if (call.id != 0) continue;
    if (MayExplainGap(MayBlock(call.name), call.end_ns - call.start_ns)) {
      kept.push_back(correlation);
    } else {
      import.CountCall(call.name);
    }
  }
  std::sort(kept.begin(), kept.end());  // The same order on every machine.
  for (const int64_t correlation : kept) import.ApiCallOf(correlation);
}

}  // namespace xlatrace::importers::xplane
