// SPDX-License-Identifier: Apache-2.0
#include "store/run_builder.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/compress.h"
#include "base/hash.h"
#include "base/secrets.h"
#include "store/derived_writer.h"
#include "store/dictionary_index.h"
#include "store/dictionary_key.h"
#include "store/host_event_list.h"
#include "store/run_windows.h"

namespace xlatrace::store {

using model::Id;

namespace {

// All rows of importers pass through here, so no other code has to mask secrets. Masked parts of
// recordings stay unchanged.
void Mask(std::string& text) {
  if (auto masked = WithoutSecrets(text)) text = std::move(*masked);
}

template <typename... Texts>
void MaskAll(Texts&... texts) {
  (Mask(texts), ...);
}

std::string Masked(std::string_view text);

std::shared_ptr<const model::CompileFacts> MaskedFacts(
    const std::shared_ptr<const model::CompileFacts>& facts) {
  if (!facts || facts->details.empty()) return facts;
  auto masked = std::make_shared<model::CompileFacts>(*facts);
  for (model::CompileDetail& detail : masked->details) {
    for (std::string* text : {&detail.name, &detail.before, &detail.after}) *text = Masked(*text);
  }
  return masked;
}

std::string Masked(std::string_view text) {
  auto masked = WithoutSecrets(text);
  return masked ? std::move(*masked) : std::string(text);
}

}  // namespace

struct RunBuilder::State {
  explicit State(const std::string& beside) : content(beside) {}

  RunContent content;
  Status status;
  TextMap<Id> strings;
  DictionaryIndex<model::Lane> lanes;
  DictionaryIndex<model::LaunchConfig> configs;
  DictionaryIndex<model::Hint> hints;
  std::unordered_map<int64_t, uint32_t> run_keys;
  HostEventList host_calls;
  std::vector<Id>
      hlo_of_added;  // For modules after content.modules: the module whose HLO they share; 0: none.

  // As the sources gave them; tables() composes them.
  std::vector<model::Window> windows;
  std::map<Id, model::ProcessEnding> endings;
  bool windows_settled = true;
  // As real numbers, because integer sums could wrap.
  double all_ns = 0;
  double all_bytes = 0;

  Id Intern(std::string_view text);
  Id InternMasked(std::string_view text);
  Id Intern(TextMap<Id>::node_type text);
  Id InternOrNone(std::string_view text) { return text.empty() ? 0 : Intern(text); }
  // After it, names of ranges are texts of the run.
  void SettleRanges();
  void SettleWindows();
  void CheckSums(int64_t duration_ns, int64_t bytes);
  void AddDerived(const std::vector<model::RunStat>& stats);
  void Add(const model::RunStat& stat);
};

Id RunBuilder::State::Intern(std::string_view text) {
  const auto known = strings.find(text);
  if (known != strings.end()) return known->second;
  if (const auto masked = WithoutSecrets(text)) return InternMasked(*masked);
  return InternMasked(text);
}

Id RunBuilder::State::InternMasked(std::string_view text) {
  const auto known = strings.find(text);
  if (known != strings.end()) return known->second;
  const auto id = static_cast<Id>(strings.size() + 1);
  content.texts.push_back(&strings.emplace(text, id).first->first);
  return id;
}

Id RunBuilder::State::Intern(TextMap<Id>::node_type text) {
  Mask(text.key());
  text.mapped() = static_cast<Id>(strings.size() + 1);
  const auto result = strings.insert(std::move(text));
  if (result.inserted) content.texts.push_back(&result.position->first);
  return result.position->second;
}

void RunBuilder::State::SettleRanges() {
  content.ranges.Settle();
  // Texts are moved without a copy, in the order of appearance.
  TextMap<Id> fresh = content.ranges.TakeTexts();
  std::vector<TextMap<Id>::node_type> nodes(fresh.size());
  const size_t first = content.range_texts.size() + 1;
  while (!fresh.empty()) {
    auto node = fresh.extract(fresh.begin());
    TextMap<Id>::node_type& place = nodes[static_cast<size_t>(node.mapped()) - first];
    place = std::move(node);
  }
  for (TextMap<Id>::node_type& node : nodes) content.range_texts.push_back(Intern(std::move(node)));
}

void RunBuilder::State::SettleWindows() {
  if (windows_settled) return;
  windows_settled = true;
  store::SettleWindows(windows, endings, content.tables);
}

// Sums that wrap around 64 bits would look like valid small numbers, and SQLite's sum() rejects
// them.
void RunBuilder::State::CheckSums(int64_t duration_ns, int64_t bytes) {
  constexpr double kMaxDeviceTimeNs = 1e17;  // Three years of device time.
  constexpr double kMaxSumBytes = 4e18;      // Less than half of the range of 64 bits.
  const bool sound = all_ns <= kMaxDeviceTimeNs && all_bytes <= kMaxSumBytes;
  all_ns += static_cast<double>(duration_ns);
  if (bytes > 0) all_bytes += static_cast<double>(bytes);
  if (!sound || (all_ns <= kMaxDeviceTimeNs && all_bytes <= kMaxSumBytes)) return;
  status = MakeError(
      fmt::format(
          "its activities {} in sum, which no run does: its {} are damaged",
          all_ns > kMaxDeviceTimeNs ? "last longer than three years" : "move more than 4 exabytes",
          all_ns > kMaxDeviceTimeNs ? "times" : "sizes"),
      "record or export it again; sort its rows by duration or size to see which are wrong");
}

void RunBuilder::State::Add(const model::RunStat& stat) {
  auto& [value, advice] = content.run_stats[{stat.name, stat.severity, stat.source}];
  value += stat.value;
  advice = stat.advice;
}

void RunBuilder::State::AddDerived(const std::vector<model::RunStat>& stats) {
  for (const model::RunStat& stat : stats) {
    content.derived_stats.emplace(stat.name, stat.severity, stat.source);
    Add(stat);
  }
}

RunBuilder::RunBuilder(const std::string& beside) : state_(std::make_unique<State>(beside)) {}

RunBuilder::~RunBuilder() = default;

void RunBuilder::SetStart(int64_t start_unix_ns) {
  std::optional<int64_t>& start = state_->content.tables.start_unix_ns;
  if (!start) start = start_unix_ns;
}

std::optional<int64_t> RunBuilder::start_unix_ns() const {
  return state_->content.tables.start_unix_ns;
}

void RunBuilder::SetRunInfo(std::string_view key, std::string_view value) {
  // The key may be the name that announces a secret.
  const std::string line = Masked(fmt::format("{}={}", key, value));
  const size_t value_at = key.size() + 1;
  state_->content.run_info[std::string(key)] =
      line.compare(0, value_at, fmt::format("{}=", key)) == 0 ? line.substr(value_at)
                                                              : Masked(value);
}

std::string RunBuilder::RunInfo(std::string_view key) const {
  const auto at = state_->content.run_info.find(key);
  return at == state_->content.run_info.end() ? std::string() : at->second;
}

Id RunBuilder::AddProcess(const model::Process& process) {
  std::vector<model::Process>& processes = state_->content.tables.processes;
  processes.push_back(process);
  MaskAll(processes.back().host, processes.back().command, processes.back().name);
  return static_cast<Id>(processes.size());
}

Id RunBuilder::AddDevice(const model::Device& device) {
  std::vector<model::Device>& devices = state_->content.tables.devices;
  devices.push_back(device);
  Mask(devices.back().name);
  return static_cast<Id>(devices.size());
}

Id RunBuilder::AddLane(const model::Lane& lane) {
  return state_->lanes.IdOf(lane, Hash(KeyOf(lane)), state_->content.tables.lanes,
                            [](model::Lane& added) { Mask(added.name); });
}

Id RunBuilder::AddLaunchConfig(const model::LaunchConfig& config) {
  State& s = *state_;
  std::vector<model::LaunchConfig>& configs = s.content.tables.configs;
  const Id id = s.configs.IdOf(
      config, Hash(KeyOf(config)), configs,
      [](model::LaunchConfig& added) { MaskAll(added.symbol, added.name, added.demangled); });
  if (configs.size() == s.content.config_texts.size()) return id;
  const model::LaunchConfig& added = configs.back();
  const Id symbol = s.InternOrNone(added.symbol);
  const Id name = s.InternOrNone(added.name);
  s.content.config_texts.push_back({symbol, name, s.InternOrNone(added.demangled)});
  return id;
}

Id RunBuilder::AddHint(const model::Hint& hint) {
  return state_->hints.IdOf(
      hint, Hash(KeyOf(hint)), state_->content.tables.hints, [](model::Hint& added) {
        MaskAll(added.module_name, added.instruction, added.op_name, added.enclosing, added.op_type,
                added.category, added.hlo, added.source_file);
      });
}

Id RunBuilder::AddModule(const model::ModuleBlob& module) {
  RunContent& content = state_->content;
  content.tables.modules.push_back({module.process_id, Masked(module.name), module.program_id,
                                    module.source, Masked(module.file)});
  const auto packed = [](std::string_view bytes) {
    return bytes.empty() ? std::string() : ZstdCompress(bytes);
  };
  content.modules.push_back({module.format, packed(module.bytes), packed(module.thunk_sequence),
                             packed(module.thunk_metadata)});
  return static_cast<Id>(content.tables.modules.size());
}

Id RunBuilder::AddApiCall(const model::ApiCall& call) {
  const Id name = state_->Intern(call.name);
  state_->host_calls.Add({.process_id = call.process_id,
                          .thread_id = call.thread_id,
                          .start_ns = call.start_ns,
                          .end_ns = call.end_ns,
                          .name_id = static_cast<uint32_t>(name)});
  return state_->content.activity_rows.AddCall(call, name);
}

void RunBuilder::AddUnreferredCall(const model::ApiCall& call) {
  RunContent& content = state_->content;
  const int64_t values[] = {content.activity_rows.CallKindOf(call, state_->Intern(call.name)),
                            call.start_ns, call.end_ns - call.start_ns,
                            call.correlation_id == 0 ? kNullNumber : call.correlation_id};
  content.call_rows.Append(content.call_rows.rows() + 1, values);
}

Id RunBuilder::AddActivity(const model::Activity& activity) {
  State& s = *state_;
  s.windows_settled = false;
  const model::RunTables& tables = s.content.tables;
  model::ActivityColumns& columns = s.content.tables.activities;
  uint32_t run_key = 0;
  if (activity.run_key != 0) {
    run_key = s.run_keys.try_emplace(activity.run_key, static_cast<uint32_t>(s.run_keys.size() + 1))
                  .first->second;
  }
  const int64_t duration = activity.end_ns - activity.start_ns;
  s.CheckSums(duration, activity.bytes);
  columns.lane.push_back(static_cast<uint32_t>(activity.lane_id));
  columns.config.push_back(static_cast<uint32_t>(activity.config_id));
  columns.hint.push_back(static_cast<uint32_t>(activity.hint_id));
  columns.run_key.push_back(run_key);
  columns.start_ns.push_back(activity.start_ns);
  columns.duration_ns.push_back(duration);
  columns.self_ns.push_back(activity.self_ns < 0 ? duration : activity.self_ns);
  columns.bytes.push_back(activity.bytes);
  columns.correlation.push_back(
      activity.correlation_id > 0 && activity.correlation_id <= std::numeric_limits<uint32_t>::max()
          ? static_cast<uint32_t>(activity.correlation_id)
          : 0);
  // A graph-level row belongs to a graph, not to a node.
  const bool row = activity.graph_node_id == 0 && activity.graph_id > 0 &&
                   activity.graph_id <= std::numeric_limits<int32_t>::max() &&
                   tables.configs[static_cast<size_t>(activity.config_id) - 1].kind ==
                       model::ActivityKind::kGraph;
  const int64_t node = row ? activity.graph_id << 32 : activity.graph_node_id;
  if (node != 0 || !columns.graph_node.empty()) {
    columns.graph_node.resize(columns.size(), 0);
    columns.graph_node.back() = node;
  }
  if (activity.timing != model::Timing::kKnown || !columns.timing.empty()) {
    columns.timing.resize(columns.size(), model::Timing::kKnown);
    columns.timing.back() = activity.timing;
  }
  s.content.activity_rows.AddActivity(activity);
  return static_cast<Id>(columns.size());
}

Id RunBuilder::AddRange(const model::Range& range) { return state_->content.ranges.Add(range); }

void RunBuilder::AddNvtxRow(const model::NvtxRow& row) {
  state_->content.nvtx_rows.push_back({row.global_tid, row.event_type, row.start_ns, row.end_ns,
                                       state_->Intern(row.text), row.domain_number});
}

void RunBuilder::AddThread(const model::Thread& thread) {
  state_->content.threads.push_back({thread.process_id, thread.thread_id, Masked(thread.name)});
}

void RunBuilder::AddStepMark(const model::StepMark& mark) {
  state_->content.tables.step_marks.push_back(mark);
}

void RunBuilder::AddCompile(const model::Compile& compile) {
  RunContent& content = state_->content;
  if (model::IsOfCompilation(compile.stage)) {
    // Tracing and lowering belong to the compilation that follows them.
    const bool before = compile.stage == model::CompileStage::kTrace ||
                        compile.stage == model::CompileStage::kLower;
    content.tables.compiles.push_back(
        {compile.process_id, compile.start_ns, compile.end_ns, before});
  }
  content.compiles.push_back({compile.process_id, compile.module_id, Masked(compile.name),
                              compile.start_ns, compile.end_ns, compile.stage,
                              MaskedFacts(compile.facts)});
}

void RunBuilder::AddHostSamples(const model::HostSampleTables& samples) {
  model::Append(samples, state_->content.tables.host_samples);
}

void RunBuilder::AddWindow(const model::Window& window) {
  state_->windows.push_back(window);
  state_->windows_settled = false;
}

void RunBuilder::AddLoss(const model::Loss& loss) {
  state_->content.tables.losses.push_back(loss);
  state_->windows_settled = false;
}

void RunBuilder::SetEnding(const model::ProcessEnding& ending) {
  state_->endings[ending.process_id] = ending;
  state_->windows_settled = false;
}

void RunBuilder::AddRunStat(const model::RunStat& stat) {
  model::RunStat masked = stat;
  MaskAll(masked.name, masked.source, masked.advice);
  state_->Add(masked);
}

const model::RunTables& RunBuilder::tables() const {
  state_->SettleWindows();
  // The finest kind of row defines a "launch" of this run.
  model::RunTables& tables = state_->content.tables;
  tables.granularity = model::Granularity::kRange;
  for (const model::LaunchConfig& config : tables.configs) {
    if (config.kind == model::ActivityKind::kKernel) {
      tables.granularity = model::Granularity::kKernel;
      break;
    }
    if (config.kind == model::ActivityKind::kOp) tables.granularity = model::Granularity::kOp;
  }
  return tables;
}

Result<RunDb::ModuleBytes> RunBuilder::ReadModule(Id module_id) const {
  const std::vector<RunContent::Module>& modules = state_->content.modules;
  auto place = static_cast<size_t>(module_id) - 1;
  if (place >= modules.size() + state_->hlo_of_added.size()) {
    return MakeError(fmt::format("there is no module {}", module_id));
  }
  if (place >= modules.size()) {
    place = static_cast<size_t>(state_->hlo_of_added[place - modules.size()]) - 1;
  }
  if (place >= modules.size() || modules[place].bytes.empty()) return NoHlo(module_id);
  const RunContent::Module& module = modules[place];
  RunDb::ModuleBytes stored;
  stored.format = module.format;
  for (const auto& [packed, bytes] : {std::pair(&module.bytes, &stored.bytes),
                                      std::pair(&module.thunk_sequence, &stored.thunk_sequence),
                                      std::pair(&module.thunk_metadata, &stored.thunk_metadata)}) {
    if (packed->empty()) continue;
    auto whole = ZstdDecompress(*packed);
    if (!whole) return Wrap(fmt::format("module {}", module_id), std::move(whole).error());
    *bytes = std::move(*whole);
  }
  return stored;
}

std::vector<model::RunStat> RunBuilder::Losses() const {
  std::vector<model::RunStat> losses;
  for (const auto& [key, stat] : state_->content.run_stats) {
    const auto& [name, severity, source] = key;
    // A run without any device activity gets a warning, too.
    if (severity < model::Severity::kDataLoss && name != "no_device_activity") continue;
    losses.push_back({.name = name,
                      .severity = severity,
                      .source = source,
                      .value = stat.first,
                      .advice = stat.second});
  }
  return losses;
}

int64_t RunBuilder::LostRecords() const {
  int64_t lost = 0;
  for (const auto& [key, value] : state_->content.run_stats) {
    if (std::get<model::Severity>(key) == model::Severity::kDataLoss) lost += value.first;
  }
  return lost;
}

std::vector<model::HostEvent> RunBuilder::HostEvents(
    const std::vector<std::pair<int64_t, int64_t>>& within) const {
  State& s = *state_;
  s.SettleRanges();
  const HostEventList& ranges = s.content.ranges.host_events();
  const std::vector<HostEventList::Event> of_ranges = ranges.Within(within);
  const std::vector<HostEventList::Event> of_calls = s.host_calls.Within(within);
  std::vector<model::HostEvent> events;
  events.reserve(of_ranges.size() + of_calls.size());
  // Calls and ranges have one common minimum length, so that none is shorter than a dropped one.
  const int64_t shortest_ns = std::max(ranges.shortest_ns(), s.host_calls.shortest_ns());
  const auto add = [&](const HostEventList::Event& event, Id name) {
    if (event.end_ns - event.start_ns < shortest_ns) return;
    events.push_back({.process_id = event.process_id,
                      .thread_id = event.thread_id,
                      .name = *s.content.texts[static_cast<size_t>(name) - 1],
                      .start_ns = event.start_ns,
                      .end_ns = event.end_ns,
                      .range_id = event.range_id});
  };
  for (const HostEventList::Event& event : of_ranges) {
    add(event, s.content.range_texts[s.content.ranges.kinds()[event.name_id - 1].text - 1]);
  }
  for (const HostEventList::Event& event : of_calls) add(event, event.name_id);
  return events;
}

std::optional<model::HostCall> RunBuilder::CallOf(size_t activity) const {
  return state_->content.activity_rows.CallOf(activity);
}

void RunBuilder::AddResults(const model::AttributionTables& attribution) {
  state_->AddDerived(attribution.stats);
  std::vector<model::ModuleInfo>& modules = state_->content.tables.modules;
  for (const model::AddedModule& added : attribution.added_modules) {
    model::ModuleInfo info = {.process_id = added.process_id,
                              .name = added.name,
                              .program_id = added.program_id,
                              .source = model::ModuleSource::kAnnotation};
    if (added.hlo_module_id != 0) {
      const model::ModuleInfo& hlo = modules[static_cast<size_t>(added.hlo_module_id) - 1];
      info.source = hlo.source;
      info.file = hlo.file;
    }
    modules.push_back(std::move(info));
    state_->hlo_of_added.push_back(added.hlo_module_id);
  }
}

void RunBuilder::AddResults(const model::AnalysisTables& analysis) {
  state_->AddDerived(analysis.stats);
}

void RunBuilder::AddResults(std::vector<model::TimeTreeRow> tree) {
  state_->content.time_tree = std::move(tree);
}

void RunBuilder::AddResults(std::vector<model::GapStackRow> gap_stacks) {
  state_->content.gap_stacks = std::move(gap_stacks);
}

void RunBuilder::AddResults(const model::UserCode& user_code) {
  model::MarkUserFrames(user_code, state_->content.tables.host_samples);
}
void RunBuilder::AddResults(model::MemoryTables memory) {
  state_->content.memory = std::move(memory);
}

std::vector<model::NamedCompile> RunBuilder::Compiles() const {
  std::vector<model::NamedCompile> compiles;
  for (const RunContent::Compile& compile : state_->content.compiles) {
    compiles.push_back({compile.process_id, compile.module_id, compile.name, compile.start_ns,
                        compile.end_ns, compile.stage, compile.facts});
  }
  return compiles;
}

const Status& RunBuilder::status() const { return state_->status; }

RunContent& RunBuilder::Settled() {
  State& s = *state_;
  s.SettleRanges();
  SetRunInfo("granularity", Text(tables().granularity));
  const std::optional<int64_t> start = start_unix_ns();
  if (start) SetRunInfo("start_unix_ns", std::to_string(*start));
  s.content.call_rows.Finish();
  return s.content;
}

}  // namespace xlatrace::store
