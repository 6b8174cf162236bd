#include "store/run_writer.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/compress.h"
#include "base/file.h"
#include "base/hash.h"
#include "store/derived_writer.h"
#include "store/host_event_reader.h"
#include "store/schema.h"

namespace xlatrace::store {
namespace {

using model::Id;

// Key of a dictionary row: its fields, length-prefixed, so that no two rows share one.
class Key {
 public:
  Key& Add(std::string_view text) {
    Add(static_cast<int64_t>(text.size()));
    key_.append(text);
    return *this;
  }
  Key& Add(int64_t value) {
    key_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }
  Key& Add(const std::optional<int64_t>& value) {
    key_ += value ? '1' : '0';
    return Add(value.value_or(0));
  }
  std::string Take() { return std::move(key_); }

 private:
  std::string key_;
};

std::string KeyOf(const model::LaunchConfig& c) {
  Key key;
  key.Add(static_cast<int64_t>(c.kind)).Add(c.symbol).Add(c.name).Add(c.demangled);
  key.Add(static_cast<int64_t>(c.copy_kind));
  for (int i = 0; i < 3; ++i) key.Add(c.grid[i]).Add(c.block[i]).Add(c.cluster[i]);
  key.Add(c.registers_per_thread).Add(c.shared_memory_static_bytes);
  key.Add(c.shared_memory_dynamic_bytes).Add(c.theoretical_occupancy_milli_pct);
  key.Add(c.local_memory_per_thread_bytes);
  return key.Take();
}

std::string KeyOf(const model::Hint& h) {
  Key key;
  key.Add(static_cast<int64_t>(h.evidence)).Add(h.module_name).Add(h.program_id);
  key.Add(h.instruction).Add(h.op_name).Add(h.category).Add(h.source_file).Add(h.source_line);
  key.Add(h.flops).Add(h.bytes_accessed).Add(h.module_id);
  return key.Take();
}

std::string KeyOf(const model::Lane& l) {
  Key key;
  key.Add(l.device_id).Add(l.stream_id).Add(l.context_id).Add(l.name).Add(l.priority);
  return key.Take();
}

std::optional<int64_t> NonZero(int64_t value) {
  return value == 0 ? std::nullopt : std::optional<int64_t>(value);
}

}  // namespace

struct RunWriter::State {
  State(Database db, std::string final_path, std::string temporary_path)
      : database(std::move(db)),
        path(std::move(final_path)),
        temporary(std::move(temporary_path)) {}

  std::optional<Database> database;
  std::string path;
  std::string temporary;
  bool finished = false;
  Status status;
  model::RunTables tables;

  Statement insert_string, insert_process, insert_device, insert_lane, insert_config, insert_hint;
  Statement insert_module, insert_api_call, insert_activity, insert_extra, insert_range;
  Statement insert_mark, insert_compile;

  std::unordered_map<std::string, Id> strings, lanes, configs, hints;
  std::unordered_map<int64_t, uint32_t> run_keys;
  std::map<std::string, std::string, std::less<>> run_info;
  std::map<std::tuple<std::string, model::Severity, std::string>, std::pair<int64_t, std::string>>
      run_stats;
  Id api_calls = 0;
  Id ranges = 0;

  void Remember(Status s) {
    if (!s && status) status = std::move(s);
  }
  void Run(Statement& statement) {
    if (status) Remember(statement.Run());
  }
  Status PrepareAll();
  Id Intern(std::string_view text);
  std::optional<int64_t> InternOrNull(std::string_view text) {
    return text.empty() ? std::nullopt : std::optional<int64_t>(Intern(text));
  }
};

Status RunWriter::State::PrepareAll() {
  const std::pair<Statement*, const char*> statements[] = {
      {&insert_string, "INSERT INTO x_string VALUES(?,?)"},
      {&insert_process, "INSERT INTO x_process VALUES(?,?,?,?,?,?,?,?,?)"},
      {&insert_device, "INSERT INTO x_device VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"},
      {&insert_lane, "INSERT INTO x_lane VALUES(?,?,?,?,?,?)"},
      {&insert_config, "INSERT INTO x_config VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"},
      {&insert_hint, "INSERT INTO x_hint VALUES(?,?,?,?,?,?,?,?,?,?,?,?)"},
      {&insert_module, "INSERT INTO x_module VALUES(?,?,?,?,?,?,?,?,?,?)"},
      {&insert_api_call, "INSERT INTO x_api_call VALUES(?,?,?,?,?,?,?)"},
      {&insert_activity, "INSERT INTO x_activity VALUES(?,?,?,?,?,?,?,?,?)"},
      {&insert_extra, "INSERT INTO x_activity_extra VALUES(?,?,?,?,?)"},
      {&insert_range, "INSERT INTO x_range VALUES(?,?,?,?,?,?,?,?)"},
      {&insert_mark, "INSERT INTO x_step_mark VALUES(?,?,?,?)"},
      {&insert_compile, "INSERT INTO x_compile VALUES(?,?,?,?,?)"},
  };
  for (const auto& [statement, sql] : statements) {
    XLATRACE_ASSIGN(*statement, database->Prepare(sql));
  }
  return {};
}

Id RunWriter::State::Intern(std::string_view text) {
  const auto [it, fresh] = strings.try_emplace(std::string(text), strings.size() + 1);
  if (fresh) {
    insert_string.BindInt64(0, it->second);
    insert_string.BindText(1, text);
    Run(insert_string);
  }
  return it->second;
}

Result<std::unique_ptr<RunWriter>> RunWriter::Create(const std::string& path) {
  std::string temporary = fmt::format("{}.tmp.{}", path, getpid());
  std::remove(temporary.c_str());
  RegisterTemporaryFile(temporary);
  auto database = Database::Create(temporary);
  if (!database) {
    UnregisterTemporaryFile(temporary);
    return MakeError(fmt::format("cannot write '{}': {}", path, database.error().message),
                     "name a place you may write to with -o FILE");
  }
  auto state = std::make_unique<State>(std::move(*database), path, temporary);
  // From here on the destructor cleans up.
  std::unique_ptr<RunWriter> writer(new RunWriter(std::move(state)));
  Database& db = *writer->state_->database;
  XLATRACE_TRY(db.Execute(fmt::format("PRAGMA application_id={}; PRAGMA user_version={}; BEGIN;",
                                      kApplicationId, kSchemaVersion)));
  XLATRACE_TRY(db.Execute(TablesSql()));
  XLATRACE_TRY(db.Execute(ViewsSql()));
  XLATRACE_TRY(writer->state_->PrepareAll());
  return writer;
}

RunWriter::RunWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}

RunWriter::~RunWriter() {
  if (state_->finished) return;
  const std::string temporary = state_->temporary;
  state_.reset();  // Closes the database before its file goes.
  std::remove(temporary.c_str());
  UnregisterTemporaryFile(temporary);
}

void RunWriter::SetStart(int64_t start_unix_ns) {
  if (!state_->tables.start_unix_ns) state_->tables.start_unix_ns = start_unix_ns;
}

std::optional<int64_t> RunWriter::start_unix_ns() const { return state_->tables.start_unix_ns; }

void RunWriter::SetRunInfo(std::string_view key, std::string_view value) {
  state_->run_info[std::string(key)] = value;
}

Id RunWriter::AddProcess(const model::Process& process) {
  State& s = *state_;
  s.tables.processes.push_back(process);
  const Id id = static_cast<Id>(s.tables.processes.size());
  Statement& row = s.insert_process;
  row.BindInt64(0, id);
  row.BindTextOrNull(1, process.host);
  row.BindOptional(2, process.pid);
  row.BindOptional(3, process.rank);
  row.BindOptional(4, process.local_rank);
  row.BindTextOrNull(5, process.command);
  row.BindOptional(6, process.clock_offset_ns);
  row.BindOptional(7, process.clock_error_ns);
  row.BindOptional(8, process.source_id);
  s.Run(row);
  return id;
}

Id RunWriter::AddDevice(const model::Device& device) {
  State& s = *state_;
  s.tables.devices.push_back(device);
  const Id id = static_cast<Id>(s.tables.devices.size());
  Statement& row = s.insert_device;
  row.BindInt64(0, id);
  row.BindInt64(1, device.process_id);
  row.BindInt64(2, static_cast<int64_t>(device.kind));
  row.BindInt64(3, device.ordinal);
  row.BindTextOrNull(4, device.name);
  row.BindTextOrNull(5, device.uuid);
  row.BindTextOrNull(6, device.compute_capability);
  int column = 7;
  for (const std::optional<int64_t>* value :
       {&device.sm_count, &device.clock_hz, &device.memory_bandwidth_bytes_per_s,
        &device.memory_bytes, &device.max_threads_per_sm, &device.max_blocks_per_sm,
        &device.registers_per_sm, &device.shared_memory_per_sm_bytes,
        &device.shared_memory_per_block_optin_bytes, &device.warp_size,
        &device.shared_memory_per_block_bytes, &device.shared_memory_reserved_per_block_bytes,
        &device.max_threads_per_block, &device.registers_per_block, &device.l2_bytes}) {
    row.BindOptional(column++, *value);
  }
  s.Run(row);
  return id;
}

Id RunWriter::AddLane(const model::Lane& lane) {
  State& s = *state_;
  const auto [it, fresh] = s.lanes.try_emplace(KeyOf(lane), s.lanes.size() + 1);
  if (!fresh) return it->second;
  s.tables.lanes.push_back(lane);
  Statement& row = s.insert_lane;
  row.BindInt64(0, it->second);
  row.BindInt64(1, lane.device_id);
  row.BindInt64(2, lane.stream_id);
  row.BindOptional(3, lane.context_id);
  row.BindTextOrNull(4, lane.name);
  row.BindOptional(5, lane.priority);
  s.Run(row);
  return it->second;
}

Id RunWriter::AddLaunchConfig(const model::LaunchConfig& config) {
  State& s = *state_;
  const auto [it, fresh] = s.configs.try_emplace(KeyOf(config), s.configs.size() + 1);
  if (!fresh) return it->second;
  s.tables.configs.push_back(config);
  const std::optional<int64_t> symbol = s.InternOrNull(config.symbol);
  const std::optional<int64_t> name = s.InternOrNull(config.name);
  const std::optional<int64_t> demangled = s.InternOrNull(config.demangled);
  Statement& row = s.insert_config;
  row.BindInt64(0, it->second);
  row.BindInt64(1, static_cast<int64_t>(config.kind));
  row.BindOptional(2, symbol);
  row.BindOptional(3, name);
  row.BindInt64(4, static_cast<int64_t>(config.copy_kind));
  for (int i = 0; i < 3; ++i) {
    row.BindOptional(5 + i, config.grid[i]);
    row.BindOptional(8 + i, config.block[i]);
    row.BindOptional(11 + i, config.cluster[i]);
  }
  row.BindOptional(14, config.registers_per_thread);
  row.BindOptional(15, config.shared_memory_static_bytes);
  row.BindOptional(16, config.shared_memory_dynamic_bytes);
  row.BindOptional(17, config.theoretical_occupancy_milli_pct);
  row.BindOptional(18, demangled);
  row.BindOptional(19, config.local_memory_per_thread_bytes);
  s.Run(row);
  return it->second;
}

Id RunWriter::AddHint(const model::Hint& hint) {
  State& s = *state_;
  const auto [it, fresh] = s.hints.try_emplace(KeyOf(hint), s.hints.size() + 1);
  if (!fresh) return it->second;
  s.tables.hints.push_back(hint);
  Statement& row = s.insert_hint;
  row.BindInt64(0, it->second);
  row.BindInt64(1, static_cast<int64_t>(hint.evidence));
  row.BindTextOrNull(2, hint.module_name);
  row.BindOptional(3, hint.program_id);
  row.BindTextOrNull(4, hint.instruction);
  row.BindTextOrNull(5, hint.op_name);
  row.BindTextOrNull(6, hint.category);
  row.BindTextOrNull(7, hint.source_file);
  row.BindOptional(8, hint.source_line);
  row.BindOptional(9, hint.flops);
  row.BindOptional(10, hint.bytes_accessed);
  row.BindOptional(11, NonZero(hint.module_id));
  s.Run(row);
  return it->second;
}

Id RunWriter::AddModule(const model::ModuleBlob& module) {
  State& s = *state_;
  s.tables.modules.push_back({module.process_id, std::string(module.name), module.program_id,
                              module.source, std::string(module.file)});
  const Id id = static_cast<Id>(s.tables.modules.size());
  Statement& row = s.insert_module;
  row.BindInt64(0, id);
  row.BindInt64(1, module.process_id);
  row.BindOptional(2, module.program_id);
  row.BindTextOrNull(3, module.name);
  row.BindInt64(4, static_cast<int64_t>(module.source));
  row.BindTextOrNull(5, module.file);
  row.BindInt64(6, static_cast<int64_t>(module.format));
  int column = 7;
  for (const std::string_view bytes :
       {module.bytes, module.thunk_sequence, module.thunk_metadata}) {
    if (bytes.empty()) {
      row.BindNull(column++);
    } else {
      row.BindBlob(column++, ZstdCompress(bytes));
    }
  }
  s.Run(row);
  return id;
}

Id RunWriter::AddApiCall(const model::ApiCall& call) {
  State& s = *state_;
  const Id name = s.Intern(call.name);
  Statement& row = s.insert_api_call;
  row.BindInt64(0, ++s.api_calls);
  row.BindInt64(1, call.process_id);
  row.BindInt64(2, call.thread_id);
  row.BindInt64(3, name);
  row.BindOptional(4, NonZero(call.correlation_id));
  row.BindInt64(5, call.start_ns);
  row.BindInt64(6, call.end_ns - call.start_ns);
  s.Run(row);
  return s.api_calls;
}

Id RunWriter::AddActivity(const model::Activity& activity) {
  State& s = *state_;
  model::ActivityColumns& columns = s.tables.activities;
  uint32_t run_key = 0;
  if (activity.run_key != 0) {
    run_key = s.run_keys.try_emplace(activity.run_key, static_cast<uint32_t>(s.run_keys.size() + 1))
                  .first->second;
  }
  const int64_t duration = activity.end_ns - activity.start_ns;
  columns.lane.push_back(static_cast<uint32_t>(activity.lane_id));
  columns.config.push_back(static_cast<uint32_t>(activity.config_id));
  columns.hint.push_back(static_cast<uint32_t>(activity.hint_id));
  columns.run_key.push_back(run_key);
  columns.start_ns.push_back(activity.start_ns);
  columns.duration_ns.push_back(duration);
  columns.self_ns.push_back(activity.self_ns < 0 ? duration : activity.self_ns);
  columns.bytes.push_back(activity.bytes);
  const Id id = static_cast<Id>(columns.size());
  Statement& row = s.insert_activity;
  row.BindInt64(0, id);
  row.BindInt64(1, activity.lane_id);
  row.BindInt64(2, activity.config_id);
  row.BindInt64(3, activity.start_ns);
  row.BindInt64(4, duration);
  row.BindOptional(5, NonZero(activity.hint_id));
  row.BindOptional(6, NonZero(activity.api_call_id));
  row.BindOptional(7, NonZero(activity.correlation_id));
  row.BindOptional(8, NonZero(run_key));
  s.Run(row);
  const bool nested = activity.self_ns >= 0 && activity.self_ns != duration;
  if (nested || activity.bytes >= 0 || activity.graph_id != 0 || activity.graph_node_id != 0) {
    Statement& extra = s.insert_extra;
    extra.BindInt64(0, id);
    extra.BindOptional(1, nested ? std::optional(activity.self_ns) : std::nullopt);
    extra.BindOptional(2, activity.bytes >= 0 ? std::optional(activity.bytes) : std::nullopt);
    extra.BindOptional(3, NonZero(activity.graph_id));
    extra.BindOptional(4, NonZero(activity.graph_node_id));
    s.Run(extra);
  }
  return id;
}

Id RunWriter::AddRange(const model::Range& range) {
  State& s = *state_;
  const std::optional<int64_t> domain = s.InternOrNull(range.domain);
  const Id text = s.Intern(range.text);
  Statement& row = s.insert_range;
  row.BindInt64(0, ++s.ranges);
  row.BindInt64(1, range.process_id);
  row.BindInt64(2, range.thread_id);
  row.BindOptional(3, domain);
  row.BindInt64(4, text);
  row.BindInt64(5, range.start_ns);
  row.BindInt64(6, range.end_ns - range.start_ns);
  row.BindInt64(7, range.depth);
  s.Run(row);
  return s.ranges;
}

void RunWriter::AddStepMark(const model::StepMark& mark) {
  state_->tables.step_marks.push_back(mark);
  Statement& row = state_->insert_mark;
  row.BindInt64(0, mark.process_id);
  row.BindInt64(1, mark.number);
  row.BindInt64(2, mark.start_ns);
  row.BindInt64(3, mark.end_ns);
  state_->Run(row);
}

void RunWriter::AddCompile(const model::Compile& compile) {
  state_->tables.compiles.push_back({compile.process_id, compile.start_ns, compile.end_ns});
  Statement& row = state_->insert_compile;
  row.BindInt64(0, compile.process_id);
  row.BindOptional(1, NonZero(compile.module_id));
  row.BindText(2, compile.name);
  row.BindInt64(3, compile.start_ns);
  row.BindInt64(4, compile.end_ns);
  state_->Run(row);
}

void RunWriter::AddRunStat(const model::RunStat& stat) {
  auto& [value, advice] = state_->run_stats[{stat.name, stat.severity, stat.source}];
  value += stat.value;
  advice = stat.advice;
}

const model::RunTables& RunWriter::tables() const {
  // The finest kind of row decides what a "launch" of this run is.
  model::RunTables& tables = state_->tables;
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

Result<RunDb::ModuleBytes> RunWriter::ReadModule(Id module_id) {
  return ReadModuleRow(*state_->database, module_id);
}

std::vector<model::HostEvent> RunWriter::HostEvents(
    const std::vector<std::pair<int64_t, int64_t>>& within) {
  auto events = ReadHostEvents(*state_->database, within);
  if (events) return std::move(*events);
  state_->Remember(tl::unexpected<Error>(std::move(events).error()));
  return {};
}

int64_t RunWriter::LostRecords() const {
  int64_t lost = 0;
  for (const auto& [key, value] : state_->run_stats) {
    if (std::get<model::Severity>(key) == model::Severity::kDataLoss) lost += value.first;
  }
  return lost;
}

void RunWriter::WriteAttribution(const model::AttributionTables& attribution) {
  for (const model::RunStat& stat : attribution.stats) AddRunStat(stat);
  if (state_->status) state_->Remember(store::WriteAttribution(*state_->database, attribution));
}

void RunWriter::WriteAnalysis(const model::AttributionTables& attribution,
                              const model::AnalysisTables& analysis) {
  for (const model::RunStat& stat : analysis.stats) AddRunStat(stat);
  if (state_->status) {
    state_->Remember(store::WriteAnalysis(*state_->database, attribution, analysis));
  }
}

Status RunWriter::status() const { return state_->status; }

Status RunWriter::Finish() {
  State& s = *state_;
  XLATRACE_TRY(s.status);
  SetRunInfo("granularity", Text(tables().granularity));
  if (s.tables.start_unix_ns) SetRunInfo("start_unix_ns", std::to_string(*s.tables.start_unix_ns));
  XLATRACE_ASSIGN(Statement info, s.database->Prepare("INSERT INTO x_run_info VALUES(?,?)"));
  for (const auto& [key, value] : s.run_info) {
    info.BindText(0, key);
    info.BindTextOrNull(1, value);
    XLATRACE_TRY(info.Run());
  }
  XLATRACE_ASSIGN(Statement row, s.database->Prepare("INSERT INTO x_run_stat VALUES(?,?,?,?,?)"));
  for (const auto& [key, value] : s.run_stats) {
    row.BindText(0, std::get<0>(key));
    row.BindInt64(1, static_cast<int64_t>(std::get<1>(key)));
    row.BindTextOrNull(2, std::get<2>(key));
    row.BindInt64(3, value.first);
    row.BindTextOrNull(4, value.second);
    XLATRACE_TRY(row.Run());
  }
  XLATRACE_TRY(s.database->Execute("COMMIT"));
  // Statements go before the database that made them.
  info = Statement();
  row = Statement();
  for (Statement* statement :
       {&s.insert_string, &s.insert_process, &s.insert_device, &s.insert_lane, &s.insert_config,
        &s.insert_hint, &s.insert_module, &s.insert_api_call, &s.insert_activity, &s.insert_extra,
        &s.insert_range, &s.insert_mark, &s.insert_compile}) {
    *statement = Statement();
  }
  s.database.reset();
  if (std::rename(s.temporary.c_str(), s.path.c_str()) != 0) {
    return MakeError(fmt::format("cannot write '{}'", s.path),
                     "name a place you may write to with -o FILE");
  }
  UnregisterTemporaryFile(s.temporary);
  s.finished = true;
  return {};
}

}  // namespace xlatrace::store
