// SPDX-License-Identifier: Apache-2.0

// PyTorch's Kineto (libkineto/src/output_json.cpp) of all ages and vendors.

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "importers/chrome/chrome_import.h"
#include "importers/common/kernel_details.h"
#include "importers/common/name_list.h"
#include "importers/common/text_fields.h"
#include "importers/xplane/xplane.h"

namespace xlatrace::importers::chrome {
namespace {

using model::ActivityKind;
using model::Severity;

enum class Category : uint8_t {
  kKernel,
  kMemcpy,
  kMemset,
  kCall,
  kRange,
  kSynchronization,
  kProjectedRange,
  kReplay,
  kPython,
  kOther,
};

// True if a frame is a place in the user's program. PyTorch's own frames lie between
// modules and ops, which are recorded themselves. Built-in functions have neither file nor
// line.
bool HasPlace(std::string_view frame) {
  return !frame.empty() && frame[0] != '<' && !frame.starts_with("torch/");
}

Category CategoryOfWord(std::string_view word) {
  if (word == "kernel" || word == "concurrent_kernel") return Category::kKernel;
  if (word == "gpu_memcpy" || word == "memcpy") return Category::kMemcpy;
  if (word == "gpu_memset" || word == "memset") return Category::kMemset;
  if (word.ends_with("_runtime") || word.ends_with("_driver") || word == "runtime") {
    return Category::kCall;
  }
  if (word == "user_annotation" || word == "cpu_op" || word == "operator") return Category::kRange;
  if (word == "cuda_sync" || word == "cuda_event") return Category::kSynchronization;
  if (word == "gpu_user_annotation") return Category::kProjectedRange;
  if (word == "cuda_profiler_range") return Category::kReplay;
  if (word == "python_function" || word == "python function") return Category::kPython;
  return Category::kOther;
}

// "cat" is a list of words, separated by commas (Trace Event Format). Tools spell them in upper or
// lower case. The first word that is known decides.
Category CategoryOf(std::string_view list) {
  std::string words(list);
  for (char& c : words) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  std::string_view rest = words;
  while (true) {
    const size_t comma = rest.find(',');
    std::string_view word = rest.substr(0, comma);
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    const Category category = CategoryOfWord(word);
    if (category != Category::kOther || comma == std::string_view::npos) return category;
    rest.remove_prefix(comma + 1);
  }
}

// "[1, 2, 3]"
void SetTriple(std::string_view list, std::optional<int64_t> out[3]) {
  std::string text;
  for (const char c : list) {
    if (c == ',' || c == '-' || (c >= '0' && c <= '9')) text += c;  // Some traces are indented.
  }
  ParseTriple(text, out);
}

std::optional<int64_t> Positive(std::optional<int64_t> value) {
  return value && *value > 0 ? value : std::nullopt;
}

class Kineto final : public Dialect {
 public:
  explicit Kineto(Import& import) : import_(import) {}

  void OnEvent(const ChromeEvent& event) override {
    if (event.phase == 'M') {
      if (event.name == "process_name")
        process_names_[ParseInt(event.pid).value_or(0)] = event.label;
      return;
    }
    if (event.category.empty() && event.phase == 'X') return OnAutogradEvent(event);
    switch (CategoryOfEvent(event.category)) {
      case Category::kPython:
        return OnPythonFrame(event);
      case Category::kSynchronization:
        return import_.Count("synchronization_row");
      case Category::kProjectedRange:
        return import_.Count("projected_range_not_kept");
      case Category::kReplay:
        ++import_.replayed;
        return import_.counters.Add(
            "replay_range_not_timed", Severity::kNotice, 1,
            "these kernels were replayed to read counters; their times are made up from passes");
      case Category::kOther:
        if (event.category.starts_with("mtia_")) {
          ++import_.mtia_events;
          return import_.counters.Add("mtia_event_not_read", Severity::kNotice, 1,
                                      "events of an MTIA device, which xlatrace does not read");
        }
        return import_.Count(event.category == "ac2g" || event.phase == 's' || event.phase == 'f' ||
                                     event.phase == 't'
                                 ? "flow_not_kept"
                                 : "host_event_not_kept");
      default:
        break;
    }
    if (event.phase != 'X') return CountOtherPhase();
    const std::optional<Import::Interval> time = import_.Time(event);
    if (!time) return;
    switch (category_) {
      case Category::kCall:
        return AddCall(event, *time);
      case Category::kRange:
        return AddRange(event, *time);
      default:
        return AddActivity(event, *time);
    }
  }

  Placement Finish() override {
    Placement placement;
    model::Process process;
    const int64_t pid = ProcessOfCalls();
    if (pid >= 0) process.pid = pid;
    process.rank = import_.facts.rank;
    const auto name = process_names_.find(pid);
    if (name != process_names_.end()) process.command = name->second;
    placement.process = import_.sink.AddProcess(process);
    AddDevices(placement.process);
    for (const LaneKey& key : lanes_) {
      model::Lane lane;
      lane.device_id = devices_[key.device];
      lane.stream_id = key.stream;
      if (key.context >= 0) lane.context_id = key.context;
      lane.name = fmt::format("Stream #{}", key.stream);
      placement.lanes.push_back(import_.sink.AddLane(lane));
    }
    return placement;
  }

 private:
  struct LaneKey {
    int64_t device, context, stream;
    auto operator<=>(const LaneKey&) const = default;
  };

  // torch.autograd.profiler until 2020: no categories. Device work has the device as thread, and
  // streams are not distinguished.
  void OnAutogradEvent(const ChromeEvent& event) {
    const bool on_device = event.pid == "CUDA functions";
    if (!on_device && event.pid != "CPU functions") return import_.Count("host_event_not_kept");
    const std::optional<Import::Interval> time = import_.Time(event);
    if (!time) return;
    if (!on_device) return AddRange(event, *time);
    category_ = Category::kKernel;
    category_text_ = "\x01";
    ChromeEvent placed = event;
    placed.device = event.tid;
    placed.stream = "0";
    AddActivity(placed, *time);
  }

  // A trace has a dozen categories and a million events.
  Category CategoryOfEvent(std::string_view text) {
    if (text != category_text_) {
      category_text_ = text;
      category_ = CategoryOf(text);
    }
    return category_;
  }

  // Counts events of a category with a time. Only complete events are known to hold a time.
  void CountOtherPhase() {
    if (category_ == Category::kCall || category_ == Category::kRange) {
      return import_.Count("host_event_not_kept");
    }
    import_.counters.Add("device_event_not_complete", Severity::kDataLoss, 1,
                         "these kernels, copies and memsets are no complete events (\"ph\": \"X\" "
                         "with ts and dur), as profilers write them; they were left out");
  }

  void AddCall(const ChromeEvent& event, const Import::Interval& time) {
    const int64_t pid = ParseInt(event.pid).value_or(-1);
    ++calls_of_pid_[pid];
    ChromeCall call;
    call.start_ns = time.start_ns;
    call.end_ns = time.end_ns;
    call.correlation = ParseInt(event.correlation).value_or(0);
    call.tid = ParseInt(event.tid).value_or(0);
    call.name = import_.rows.Text(event.name);
    import_.rows.Add(call);
  }

  void AddRange(const ChromeEvent& event, const Import::Interval& time) {
    const int64_t pid = ParseInt(event.pid).value_or(-1);
    constexpr std::string_view kStep = "ProfilerStep#";
    if (event.name.starts_with(kStep)) {
      if (const auto number = ParseInt(event.name.substr(kStep.size()))) {
        import_.steps.push_back(
            {.number = *number, .start_ns = time.start_ns, .end_ns = time.end_ns});
      }
    }
    import_.AddRange(pid, ParseInt(event.tid).value_or(0), time, event.name);
  }

  // with_stack=True: "nn.Module: BertLayer_3", "train.py(12): main" (the line where it begins).
  void OnPythonFrame(const ChromeEvent& event) {
    if (event.phase != 'X' || !HasPlace(event.name)) {
      return import_.counters.Add("python_function_not_kept", Severity::kInfo, 1,
                                  "calls within PyTorch's own Python code and of built-in "
                                  "functions: modules, ops and the frames around them are kept");
    }
    if (const std::optional<Import::Interval> time = import_.TraceTime(event)) {
      import_.AddFrame(ParseInt(event.pid).value_or(-1), ParseInt(event.tid).value_or(0), *time,
                       event.name);
    }
  }

  void AddActivity(const ChromeEvent& event, const Import::Interval& time) {
    // The row's place in the trace (pid: device, tid: stream), used if args lacks it.
    LaneKey key;
    key.device = ParseInt(event.device).value_or(ParseInt(event.pid).value_or(0));
    key.stream = ParseInt(event.stream).value_or(ParseInt(event.tid).value_or(0));
    key.context = ParseInt(event.context).value_or(-1);
    ChromeActivity row;
    row.lane = LaneIndex(key);
    row.start_ns = time.start_ns;
    row.end_ns = time.end_ns;
    row.correlation = ParseInt(event.correlation).value_or(0);
    const int64_t graph = ParseInt(event.graph_id).value_or(0);
    row.graph_id = graph > 0 && graph <= UINT32_MAX ? static_cast<uint32_t>(graph) : 0;
    row.graph_node_id = ParseInt(event.graph_node_id).value_or(0);
    row.config = ConfigOf(event);
    row.hint = HintOf(event);
    row.device = static_cast<uint16_t>(key.device);
    row.migrates = category_ == Category::kMemcpy && !MigrationNameOf(event.name).empty();
    if (category_ == Category::kKernel) {
      ++import_.kernels;
    } else {
      row.bytes = ParseInt(event.bytes).value_or(-1);
    }
    import_.rows.Add(row);
  }

  uint32_t LaneIndex(const LaneKey& key) {
    if (!lanes_.empty() && last_lane_key_ == key) return last_lane_;
    const auto [it, fresh] = lane_index_.try_emplace(key, static_cast<uint32_t>(lanes_.size()));
    if (fresh) lanes_.push_back(key);
    last_lane_key_ = key;
    last_lane_ = it->second;
    return last_lane_;
  }

  // Facts about a kernel from a profiler that traces XLA (PyTorch/XLA), in XProf's words.
  uint32_t HintOf(const ChromeEvent& event) {
    if (event.hlo_op.empty() && event.hlo_module.empty()) return 0;
    hint_key_.clear();
    for (const std::string_view part : {event.hlo_op, event.hlo_module, event.program_id,
                                        event.op_name_end, event.op_name_prefix}) {
      hint_key_.append(part).push_back('\0');
    }
    const auto [it, fresh] = hints_.try_emplace(hint_key_, 0);
    if (!fresh) return it->second;
    model::Hint hint;
    hint.evidence = model::Evidence::kAnnotation;
    hint.module_name = std::string(event.hlo_module);
    hint.program_id = ParseInt(event.program_id);
    hint.instruction = std::string(event.hlo_op);
    if (hint.instruction.starts_with('%')) hint.instruction.erase(0, 1);
    hint.op_name = std::string(event.op_name_end);
    if (!hint.op_name.empty() && !event.op_name_prefix.empty()) {
      hint.op_name.insert(0, std::string(event.op_name_prefix) + "/");
    }
    return it->second = static_cast<uint32_t>(import_.sink.AddHint(hint));
  }

  uint32_t ConfigOf(const ChromeEvent& event) {
    key_.assign(1, static_cast<char>(category_));
    for (const std::string_view part :
         {event.name, event.grid, event.block, event.registers, event.shared_memory}) {
      key_.append(part).push_back('\0');
    }
    const auto [it, fresh] = configs_.try_emplace(key_, 0);
    if (!fresh) return it->second;
    model::LaunchConfig config;
    config.symbol = event.name.empty() ? "(unnamed)" : std::string(event.name);
    config.name = config.symbol;
    if (category_ == Category::kMemcpy) {
      config.kind = ActivityKind::kMemcpy;
      config.copy_kind = CopyKindOfName(event.name);
      const std::string_view migration = MigrationNameOf(event.name);
      if (!migration.empty()) config.symbol = config.name = std::string(migration);
    } else if (category_ == Category::kMemset) {
      config.kind = ActivityKind::kMemset;
    } else {
      config.name = ShortKernelName(config.symbol);
      SetTriple(event.grid, config.grid);
      SetTriple(event.block, config.block);
      config.registers_per_thread = Positive(ParseInt(event.registers));
      config.shared_memory_dynamic_bytes = ParseInt(event.shared_memory);
    }
    it->second = static_cast<uint32_t>(import_.sink.AddLaunchConfig(config));
    return it->second;
  }

  int64_t ProcessOfCalls() const {
    int64_t pid = -1;
    int64_t most = 0;
    for (const auto& [candidate, count] : calls_of_pid_) {
      if (candidate >= 0 && count > most) {
        pid = candidate;
        most = count;
      }
    }
    return pid;
  }

  // Devices that rows lie on, with the facts that deviceProperties has of them.
  void AddDevices(model::Id process) {
    nlohmann::json properties =
        nlohmann::json::parse(import_.facts.device_properties, nullptr, false);
    if (!properties.is_array()) properties = nlohmann::json::array();
    std::vector<int64_t> ordinals;
    for (const LaneKey& key : lanes_) ordinals.push_back(key.device);
    std::sort(ordinals.begin(), ordinals.end());
    ordinals.erase(std::unique(ordinals.begin(), ordinals.end()), ordinals.end());
    for (const int64_t ordinal : ordinals) {
      model::Device device;
      device.process_id = process;
      device.kind = model::DeviceKind::kGpu;
      device.ordinal = ordinal;
      const nlohmann::json* facts = nullptr;
      for (const nlohmann::json& candidate : properties) {
        if (candidate.is_object() && IntOf(candidate, "id") == ordinal) facts = &candidate;
      }
      // ROCm numbers rows by agent, properties from 0: no doubt where there is one of each.
      if (facts == nullptr && properties.size() == 1 && ordinals.size() == 1 &&
          properties[0].is_object()) {
        facts = &properties[0];
      }
      if (facts != nullptr) SetFacts(*facts, device);
      AddName(device.name, import_.gpu_names);
      devices_[ordinal] = import_.sink.AddDevice(device);
    }
  }

  static std::optional<int64_t> IntOf(const nlohmann::json& object, const char* key) {
    const auto it = object.find(key);
    if (it == object.end() || !it->is_number_integer()) return std::nullopt;
    return it->get<int64_t>();
  }

  static void SetFacts(const nlohmann::json& facts, model::Device& device) {
    if (const auto name = facts.find("name"); name != facts.end() && name->is_string()) {
      device.name = name->get<std::string>();
    }
    const auto major = IntOf(facts, "computeMajor");
    const auto minor = IntOf(facts, "computeMinor");
    const bool is_amd = device.name.starts_with("AMD");
    if (major && minor) {
      device.compute_capability = is_amd && *major == 9 && *minor == 4 ? "gfx942"
                                  : is_amd && *major == 9 && *minor == 5
                                      ? "gfx950"
                                      : fmt::format("{}.{}", *major, *minor);
    }
    device.memory_bytes = Positive(IntOf(facts, "totalGlobalMem"));
    device.sm_count = Positive(IntOf(facts, "numSms"));
    device.warp_size = Positive(IntOf(facts, "warpSize"));
    device.max_threads_per_block = Positive(IntOf(facts, "maxThreadsPerBlock"));
    device.max_threads_per_sm = Positive(IntOf(facts, "maxThreadsPerMultiprocessor"));
    device.registers_per_block = Positive(IntOf(facts, "regsPerBlock"));
    device.registers_per_sm = Positive(IntOf(facts, "regsPerMultiprocessor"));
    device.shared_memory_per_block_bytes = Positive(IntOf(facts, "sharedMemPerBlock"));
    device.shared_memory_per_block_optin_bytes = Positive(IntOf(facts, "sharedMemPerBlockOptin"));
    device.shared_memory_per_sm_bytes = Positive(IntOf(facts, "sharedMemPerMultiprocessor"));
    if (!device.shared_memory_per_sm_bytes) {
      device.shared_memory_per_sm_bytes =
          Positive(IntOf(facts, "maxSharedMemoryPerMultiProcessor"));
    }
  }

  Import& import_;
  Category category_ = Category::kOther;
  std::string category_text_ = "\x01";
  std::string key_;
  std::string hint_key_;
  std::unordered_map<std::string, uint32_t> hints_;
  std::unordered_map<std::string, uint32_t> configs_;
  std::vector<LaneKey> lanes_;
  std::map<LaneKey, uint32_t> lane_index_;
  LaneKey last_lane_key_{};
  uint32_t last_lane_ = 0;
  std::map<int64_t, model::Id> devices_;
  std::map<int64_t, int64_t> calls_of_pid_;
  std::map<int64_t, std::string> process_names_;
};

}  // namespace

std::unique_ptr<Dialect> MakeKineto(Import& import) { return std::make_unique<Kineto>(import); }

}  // namespace xlatrace::importers::chrome
