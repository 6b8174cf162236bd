#include "store/run_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/compress.h"
#include "base/file.h"
#include "store/activity_rows.h"
#include "store/derived_writer.h"
#include "store/host_event_list.h"
#include "store/range_rows.h"
#include "store/schema.h"
#include "store/table_builder.h"

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

// In the order of x_config's columns.
std::array<std::optional<int64_t>, 7> NsightColumns(const model::NsightConfig& c) {
  return {c.launch_type,
          c.cache_config,
          c.local_memory_total_bytes,
          c.shared_memory_executed_bytes,
          c.source_memory_kind,
          c.memory_kind,
          c.memset_value};
}

std::string KeyOf(const model::LaunchConfig& c) {
  Key key;
  key.Add(static_cast<int64_t>(c.kind)).Add(c.symbol).Add(c.name).Add(c.demangled);
  key.Add(static_cast<int64_t>(c.copy_kind));
  for (int i = 0; i < 3; ++i) key.Add(c.grid[i]).Add(c.block[i]).Add(c.cluster[i]);
  key.Add(c.registers_per_thread).Add(c.shared_memory_static_bytes);
  key.Add(c.shared_memory_dynamic_bytes).Add(c.theoretical_occupancy_milli_pct);
  key.Add(c.local_memory_per_thread_bytes);
  for (const auto& value : NsightColumns(c.nsight)) key.Add(value);
  return key.Take();
}

std::string KeyOf(const model::Hint& h) {
  Key key;
  key.Add(static_cast<int64_t>(h.evidence)).Add(h.module_name).Add(h.program_id);
  key.Add(h.instruction).Add(h.op_name).Add(h.category).Add(h.source_file).Add(h.source_line);
  key.Add(h.flops).Add(h.bytes_accessed).Add(h.module_id);
  key.Add(h.enclosing).Add(h.op_type).Add(h.hlo);
  return key.Take();
}

std::string KeyOf(const model::Lane& l) {
  Key key;
  key.Add(l.device_id).Add(l.stream_id).Add(l.context_id).Add(l.name).Add(l.priority);
  return key.Take();
}

std::optional<int64_t> NotNegative(int64_t value) {
  return value < 0 ? std::nullopt : std::optional<int64_t>(value);
}

std::optional<int64_t> NonZero(int64_t value) {
  return value == 0 ? std::nullopt : std::optional<int64_t>(value);
}

}  // namespace

struct RunWriter::State {
  State(Database db, std::string final_path, std::string temporary_path)
      : database(std::move(db)),
        path(std::move(final_path)),
        temporary(std::move(temporary_path)),
        ranges(temporary),
        call_pages(temporary),
        call_rows([this](std::string_view page, int64_t last) { call_pages.Add(page, last); }) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  std::optional<Database> database;
  std::string path;
  std::string temporary;
  bool replace = true;
  bool finished = false;
  Status status;
  model::RunTables tables;

  Statement insert_string, insert_process, insert_thread, insert_device, insert_lane, insert_config,
      insert_hint;
  Statement insert_module, insert_range_kind, insert_nvtx_row, insert_mark, insert_compile;

  // As the sources said them; composed in `tables` when these are asked for.
  std::vector<model::Window> windows;
  std::map<Id, model::ProcessEnding> endings;
  bool windows_settled = true;
  // As real numbers, which do not wrap where the whole ones of every view would.
  double all_ns = 0;
  double all_bytes = 0;

  TextMap<Id> strings;
  std::unordered_map<std::string, Id> lanes, configs, hints;
  std::unordered_map<int64_t, uint32_t> run_keys;
  std::map<std::string, std::string, std::less<>> run_info;
  std::map<std::tuple<std::string, model::Severity, std::string>, std::pair<int64_t, std::string>>
      run_stats;
  // Of them what attribution and analysis counted, which a new attribution counts again.
  std::set<std::tuple<std::string, model::Severity, std::string>> derived_stats;
  void AddDerivedStat(RunWriter& writer, const model::RunStat& stat) {
    derived_stats.emplace(stat.name, stat.severity, stat.source);
    writer.AddRunStat(stat);
  }
  ActivityRows activity_rows;
  HostEventList host_calls;

  RangeRows ranges;
  std::vector<Id> range_texts;     // Id in x_string by the ranges' own number, from 1.
  size_t range_kinds_written = 0;  // To x_range_kind.

  // Of calls that nothing refers to.
  PageSpool call_pages;
  TableBuilder call_rows;

  void Remember(Status s) {
    if (!s && status) status = std::move(s);
  }
  void Run(Statement& statement) {
    if (status) Remember(statement.Run());
  }
  Status PrepareAll();
  // The rows that exist once per activity and range, behind what SQLite has written.
  Status AppendRows(uint32_t activity_root, uint32_t range_root, uint32_t call_root);
  Id Intern(std::string_view text);
  Id Intern(TextMap<Id>::node_type text);
  void InsertString(Id id, std::string_view text);
  // Names of ranges are known to the database after it.
  void SettleRanges();
  void SettleWindows();
  Status WriteWindows();
  void CheckSums(int64_t duration_ns, int64_t bytes);
  std::optional<int64_t> InternOrNull(std::string_view text) {
    return text.empty() ? std::nullopt : std::optional<int64_t>(Intern(text));
  }
};

Status RunWriter::State::PrepareAll() {
  const std::pair<Statement*, const char*> statements[] = {
      {&insert_string, "INSERT INTO x_string VALUES(?,?)"},
      {&insert_process, "INSERT INTO x_process VALUES(?,?,?,?,?,?,?,?,?,?)"},
      {&insert_thread, "INSERT OR REPLACE INTO x_thread VALUES(?,?,?)"},
      {&insert_device, "INSERT INTO x_device VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"},
      {&insert_lane, "INSERT INTO x_lane VALUES(?,?,?,?,?,?)"},
      {&insert_config,
       "INSERT INTO x_config VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"},
      {&insert_hint, "INSERT INTO x_hint VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"},
      {&insert_module, "INSERT INTO x_module VALUES(?,?,?,?,?,?,?,?,?,?,NULL,NULL,0)"},
      {&insert_range_kind, "INSERT INTO x_range_kind VALUES(?,?,?,?,?,?)"},
      {&insert_nvtx_row, "INSERT INTO x_nvtx_row VALUES(?,?,?,?,?,?)"},
      {&insert_mark, "INSERT INTO x_step_mark VALUES(?,?,?,?)"},
      {&insert_compile, "INSERT INTO x_compile VALUES(?,?,?,?,?)"},
  };
  for (const auto& [statement, sql] : statements) {
    XLATRACE_ASSIGN(*statement, database->Prepare(sql));
  }
  return {};
}

namespace {

Result<uint32_t> RootPage(Database& database, std::string_view table) {
  XLATRACE_ASSIGN(const std::optional<int64_t> page,
                  database.QueryInt64(
                      fmt::format("SELECT rootpage FROM sqlite_master WHERE name = '{}'", table)));
  return static_cast<uint32_t>(page.value_or(0));
}

}  // namespace

void RunWriter::State::SettleRanges() {
  ranges.Settle();
  // The texts move over without being copied, in the order in which they came.
  TextMap<Id> fresh = ranges.TakeTexts();
  std::vector<TextMap<Id>::node_type> nodes(fresh.size());
  const size_t first = range_texts.size() + 1;
  while (!fresh.empty()) {
    auto node = fresh.extract(fresh.begin());
    TextMap<Id>::node_type& place = nodes[static_cast<size_t>(node.mapped()) - first];
    place = std::move(node);
  }
  for (TextMap<Id>::node_type& node : nodes) range_texts.push_back(Intern(std::move(node)));
  for (; range_kinds_written < ranges.kinds().size(); ++range_kinds_written) {
    const RangeRows::Kind& kind = ranges.kinds()[range_kinds_written];
    Statement& row = insert_range_kind;
    row.BindInt64(0, static_cast<int64_t>(range_kinds_written) + 1);
    row.BindInt64(1, kind.process_id);
    row.BindInt64(2, kind.thread_id);
    row.BindOptional(3, kind.domain == 0 ? std::nullopt : NonZero(range_texts[kind.domain - 1]));
    row.BindInt64(4, range_texts[kind.text - 1]);
    row.BindOptional(5, NotNegative(kind.domain_number));
    Run(row);
  }
}

// A process whose source says nothing of windows was recorded from its first activity to its last.
void RunWriter::State::SettleWindows() {
  if (windows_settled) return;
  windows_settled = true;
  std::vector<model::Window> whole;
  std::vector<int> said(tables.processes.size() + 1, 0);
  const auto known = [&](Id id) { return id > 0 && static_cast<size_t>(id) < said.size(); };
  for (const model::Window& window : windows) {
    if (known(window.process_id)) ++said[static_cast<size_t>(window.process_id)];
  }
  // One window holds all that the process did, whatever the clocks say of its edges; a source that
  // knows better says an empty one, too.
  std::vector<std::optional<model::Window>> extent(said.size());
  for (const model::Window& window : windows) {
    if (known(window.process_id) && said[static_cast<size_t>(window.process_id)] == 1) {
      extent[static_cast<size_t>(window.process_id)] = window;
    } else if (window.end_ns > window.start_ns) {
      whole.push_back(window);
    }
  }
  for (size_t i = 0; i < tables.activities.size(); ++i) {
    const Id process = tables.DeviceOf(i).process_id;
    if (!known(process) || said[static_cast<size_t>(process)] > 1 || !tables.activities.timed(i)) {
      continue;
    }
    const int64_t start = tables.activities.start_ns[i];
    const int64_t end = tables.activities.end_ns(i);
    std::optional<model::Window>& window = extent[static_cast<size_t>(process)];
    if (!window) window = model::Window{process, start, end, model::WindowEnd::kEnd};
    window->start_ns = std::min(window->start_ns, start);
    window->end_ns = std::max(window->end_ns, end);
  }
  for (const std::optional<model::Window>& window : extent) {
    if (window) whole.push_back(*window);
  }
  for (auto& [id, ending] : endings) {
    // The source was cut off: whatever came after its last activity is missing.
    if (ending.unrecorded_from_ns != INT64_MAX) continue;
    model::Window* last = nullptr;
    for (model::Window& window : whole) {
      if (window.process_id == id && (last == nullptr || window.end_ns > last->end_ns)) {
        last = &window;
      }
    }
    if (last == nullptr) {
      // Of a process without work there is no time to name; the source's run stat says it.
      ending.unrecorded_from_ns.reset();
      continue;
    }
    ending.unrecorded_from_ns = last->end_ns;
    last->why_ended = model::WindowEnd::kLoss;
  }
  tables.windows = model::CutByLosses(std::move(whole), tables.losses);
  tables.endings.clear();
  for (const auto& [id, ending] : endings) tables.endings.push_back(ending);
}

Status RunWriter::State::WriteWindows() {
  SettleWindows();
  XLATRACE_ASSIGN(Statement row, database->Prepare("INSERT INTO x_window VALUES(?,?,?,?)"));
  for (const model::Window& window : tables.windows) {
    row.BindInt64(0, window.process_id);
    row.BindInt64(1, window.start_ns);
    row.BindInt64(2, window.end_ns);
    row.BindInt64(3, static_cast<int64_t>(window.why_ended));
    XLATRACE_TRY(row.Run());
  }
  XLATRACE_ASSIGN(row, database->Prepare("INSERT INTO x_loss VALUES(?,?,?,?,?,?)"));
  for (const model::Loss& loss : tables.losses) {
    row.BindInt64(0, loss.process_id);
    row.BindInt64(1, loss.start_ns);
    row.BindInt64(2, loss.end_ns);
    row.BindInt64(3, loss.at_least);
    row.BindTextOrNull(4, loss.cause);
    row.BindOptional(5, NonZero(loss.correlation));
    XLATRACE_TRY(row.Run());
  }
  XLATRACE_ASSIGN(row, database->Prepare("INSERT INTO x_ending VALUES(?,?,?,?,?)"));
  for (const auto& [id, ending] : endings) {
    row.BindInt64(0, id);
    row.BindInt64(1, static_cast<int64_t>(ending.how));
    row.BindOptional(2, ending.signal);
    row.BindOptional(3, ending.unrecorded_from_ns);
    row.BindOptional(4, ending.unrecorded_tail_ns);
    XLATRACE_TRY(row.Run());
  }
  return {};
}

Status RunWriter::State::AppendRows(uint32_t activity_root, uint32_t range_root,
                                    uint32_t call_root) {
  XLATRACE_ASSIGN(BulkFile file, BulkFile::Open(temporary));
  const auto add_leaf = [&](std::string_view page, int64_t last) { file.AddLeaf(page, last); };
  TableBuilder rows(add_leaf);
  activity_rows.WriteRows(tables, rows);
  rows.Finish();
  XLATRACE_TRY(file.EndTable(activity_root));
  XLATRACE_TRY(ranges.Drain(add_leaf));
  XLATRACE_TRY(file.EndTable(range_root));
  call_rows.Finish();
  XLATRACE_TRY(call_pages.Drain(add_leaf));
  XLATRACE_TRY(file.EndTable(call_root));
  return file.Close();
}

Id RunWriter::State::Intern(std::string_view text) {
  const auto known = strings.find(text);
  if (known != strings.end()) return known->second;
  const auto id = static_cast<Id>(strings.size() + 1);
  strings.emplace(text, id);
  InsertString(id, text);
  return id;
}

Id RunWriter::State::Intern(TextMap<Id>::node_type text) {
  text.mapped() = static_cast<Id>(strings.size() + 1);
  const auto result = strings.insert(std::move(text));
  if (result.inserted) InsertString(result.position->second, result.position->first);
  return result.position->second;
}

void RunWriter::State::InsertString(Id id, std::string_view text) {
  insert_string.BindInt64(0, id);
  insert_string.BindText(1, text);
  Run(insert_string);
}

namespace {

// A file that was not there before. What somebody has put under this name (a link to a file that is
// not ours, a FIFO) is taken away, not written to.
bool MakeNew(const std::string& path) {
  for (int i = 0; i < 3; ++i) {
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd >= 0) close(fd);
    if (fd >= 0 || errno != EEXIST) return fd >= 0;
    if (unlink(path.c_str()) != 0 && errno != ENOENT) return false;
  }
  return false;
}

// Gives `temporary` the name `path`. Without `replace`: EEXIST where there is one.
bool Place(const std::string& temporary, const std::string& path, bool replace) {
  if (replace) return std::rename(temporary.c_str(), path.c_str()) == 0;
  if (renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) {
    return true;
  }
  if (errno == EEXIST) return false;
  // File systems without it have links, or neither.
  if (link(temporary.c_str(), path.c_str()) == 0) {
    unlink(temporary.c_str());
    return true;
  }
  return errno != EEXIST && std::rename(temporary.c_str(), path.c_str()) == 0;
}

}  // namespace

Result<std::unique_ptr<RunWriter>> RunWriter::Create(const std::string& path, bool replace) {
  std::string temporary = fmt::format("{}.tmp.{}", path, getpid());
  RegisterTemporaryFile(temporary);
  if (!MakeNew(temporary)) {
    const std::string reason = std::strerror(errno);
    UnregisterTemporaryFile(temporary);
    return MakeError(fmt::format("cannot write '{}': {}", path, reason),
                     "name a place you may write to with -o FILE");
  }
  auto database = Database::Create(temporary);
  if (!database) {
    std::remove(temporary.c_str());
    UnregisterTemporaryFile(temporary);
    return MakeError(fmt::format("cannot write '{}': {}", path, database.error().message),
                     "name a place you may write to with -o FILE");
  }
  auto state = std::make_unique<State>(std::move(*database), path, temporary);
  state->replace = replace;
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
  row.BindTextOrNull(9, process.name);
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
  int column = 20;
  for (const auto& value : NsightColumns(config.nsight)) row.BindOptional(column++, value);
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
  row.BindTextOrNull(12, hint.enclosing);
  row.BindTextOrNull(13, hint.op_type);
  row.BindTextOrNull(14, hint.hlo);
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
  const Id name = state_->Intern(call.name);
  state_->host_calls.Add({.process_id = call.process_id,
                          .thread_id = call.thread_id,
                          .start_ns = call.start_ns,
                          .end_ns = call.end_ns,
                          .name_id = static_cast<uint32_t>(name)});
  return state_->activity_rows.AddCall(call, name);
}

void RunWriter::AddUnreferredCall(const model::ApiCall& call) {
  State& s = *state_;
  const int64_t values[] = {s.activity_rows.CallKindOf(call, s.Intern(call.name)), call.start_ns,
                            call.end_ns - call.start_ns,
                            call.correlation_id == 0 ? kNullValue : call.correlation_id};
  s.call_rows.Append(s.call_rows.rows() + 1, values);
}

// Sums of 64 bits that wrap would be small numbers that look right, and SQLite's sum() refuses
// them.
void RunWriter::State::CheckSums(int64_t duration_ns, int64_t bytes) {
  constexpr double kMostNs = 1e17;     // Three years of device time.
  constexpr double kMostBytes = 4e18;  // Less than half of what 64 bits hold.
  const bool sound = all_ns <= kMostNs && all_bytes <= kMostBytes;
  all_ns += static_cast<double>(duration_ns);
  if (bytes > 0) all_bytes += static_cast<double>(bytes);
  if (!sound || (all_ns <= kMostNs && all_bytes <= kMostBytes)) return;
  Remember(tl::unexpected<Error>(Error{
      fmt::format("its activities {} in sum, which no run does: its {} are damaged",
                  all_ns > kMostNs ? "last longer than three years" : "move more than 4 exabytes",
                  all_ns > kMostNs ? "times" : "sizes"),
      "record or export it again; sort its rows by duration or size to see which are wrong",
      ErrorCode::kFailed}));
}

Id RunWriter::AddActivity(const model::Activity& activity) {
  State& s = *state_;
  s.windows_settled = false;
  model::ActivityColumns& columns = s.tables.activities;
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
  // A graph-level row is of a graph, not of a node.
  const bool row = activity.graph_node_id == 0 && activity.graph_id > 0 &&
                   activity.graph_id <= std::numeric_limits<int32_t>::max() &&
                   s.tables.configs[static_cast<size_t>(activity.config_id) - 1].kind ==
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
  s.activity_rows.AddActivity(activity);
  return static_cast<Id>(columns.size());
}

Id RunWriter::AddRange(const model::Range& range) { return state_->ranges.Add(range); }

void RunWriter::AddNvtxRow(const model::NvtxRow& nvtx) {
  const Id text_id = state_->Intern(nvtx.text);
  Statement& row = state_->insert_nvtx_row;
  row.BindInt64(0, nvtx.global_tid);
  row.BindInt64(1, nvtx.event_type);
  row.BindOptional(2, nvtx.start_ns);
  row.BindOptional(3, nvtx.end_ns);
  row.BindInt64(4, text_id);
  row.BindOptional(5, NotNegative(nvtx.domain_number));
  state_->Run(row);
}

void RunWriter::AddThread(const model::Thread& thread) {
  Statement& row = state_->insert_thread;
  row.BindInt64(0, thread.process_id);
  row.BindInt64(1, thread.thread_id);
  row.BindText(2, thread.name);
  state_->Run(row);
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

void RunWriter::AddWindow(const model::Window& window) {
  state_->windows.push_back(window);
  state_->windows_settled = false;
}

void RunWriter::AddLoss(const model::Loss& loss) {
  state_->tables.losses.push_back(loss);
  state_->windows_settled = false;
}

void RunWriter::SetEnding(const model::ProcessEnding& ending) {
  state_->endings[ending.process_id] = ending;
  state_->windows_settled = false;
}

void RunWriter::AddRunStat(const model::RunStat& stat) {
  auto& [value, advice] = state_->run_stats[{stat.name, stat.severity, stat.source}];
  value += stat.value;
  advice = stat.advice;
}

std::vector<model::RunStat> RunWriter::Losses() const {
  std::vector<model::RunStat> losses;
  for (const auto& [key, stat] : state_->run_stats) {
    const auto& [name, severity, source] = key;
    if (severity != model::Severity::kDataLoss && severity != model::Severity::kError) continue;
    losses.push_back({.name = name,
                      .severity = severity,
                      .source = source,
                      .value = stat.first,
                      .advice = stat.second});
  }
  return losses;
}

const model::RunTables& RunWriter::tables() const {
  state_->SettleWindows();
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
    const std::vector<std::pair<int64_t, int64_t>>& within) const {
  State& s = *state_;
  s.SettleRanges();
  std::vector<const std::string*> names(s.strings.size() + 1, nullptr);
  for (const auto& [text, id] : s.strings) names[static_cast<size_t>(id)] = &text;
  std::vector<model::HostEvent> events;
  const HostEventList& ranges = s.ranges.host_events();
  // Of both sorts none that is shorter than what one of them had to leave out.
  const int64_t shortest_ns = std::max(ranges.shortest_ns(), s.host_calls.shortest_ns());
  const auto add = [&](const HostEventList::Event& event, Id name) {
    if (event.end_ns - event.start_ns < shortest_ns) return;
    events.push_back({.process_id = event.process_id,
                      .thread_id = event.thread_id,
                      .name = *names[static_cast<size_t>(name)],
                      .start_ns = event.start_ns,
                      .end_ns = event.end_ns,
                      .range_id = event.range_id});
  };
  for (const HostEventList::Event& event : ranges.Within(within)) {
    add(event, s.range_texts[s.ranges.kinds()[event.name_id - 1].text - 1]);
  }
  for (const HostEventList::Event& event : s.host_calls.Within(within)) add(event, event.name_id);
  return events;
}

std::optional<model::HostCall> RunWriter::CallOf(size_t activity) const {
  return state_->activity_rows.CallOf(activity);
}

int64_t RunWriter::LostRecords() const {
  int64_t lost = 0;
  for (const auto& [key, value] : state_->run_stats) {
    if (std::get<model::Severity>(key) == model::Severity::kDataLoss) lost += value.first;
  }
  return lost;
}

void RunWriter::WriteAttribution(const model::AttributionTables& attribution) {
  for (const model::RunStat& stat : attribution.stats) state_->AddDerivedStat(*this, stat);
  if (state_->status) state_->Remember(store::WriteAttribution(*state_->database, attribution));
  // They count as modules of the run from here on.
  model::RunTables& tables = state_->tables;
  for (const model::AddedModule& added : attribution.added_modules) {
    model::ModuleInfo info = {.process_id = added.process_id,
                              .name = added.name,
                              .program_id = added.program_id,
                              .source = model::ModuleSource::kAnnotation};
    if (added.hlo_module_id != 0) {
      const model::ModuleInfo& hlo = tables.modules[static_cast<size_t>(added.hlo_module_id) - 1];
      info.source = hlo.source;
      info.file = hlo.file;
    }
    tables.modules.push_back(std::move(info));
  }
}

void RunWriter::WriteAnalysis(const model::AttributionTables& attribution,
                              const model::AnalysisTables& analysis) {
  for (const model::RunStat& stat : analysis.stats) state_->AddDerivedStat(*this, stat);
  if (state_->status) {
    state_->Remember(store::WriteAnalysis(*state_->database, attribution, analysis));
    state_->activity_rows.Settle(state_->tables, &attribution, &analysis);
  }
}

Status RunWriter::status() const { return state_->status; }

Status RunWriter::Finish() {
  State& s = *state_;
  s.SettleRanges();
  XLATRACE_TRY(s.status);
  SetRunInfo("granularity", Text(tables().granularity));
  if (s.tables.start_unix_ns) SetRunInfo("start_unix_ns", std::to_string(*s.tables.start_unix_ns));
  XLATRACE_ASSIGN(Statement info, s.database->Prepare("INSERT INTO x_run_info VALUES(?,?)"));
  for (const auto& [key, value] : s.run_info) {
    info.BindText(0, key);
    info.BindTextOrNull(1, value);
    XLATRACE_TRY(info.Run());
  }
  XLATRACE_TRY(s.WriteWindows());
  XLATRACE_ASSIGN(Statement row, s.database->Prepare("INSERT INTO x_run_stat VALUES(?,?,?,?,?,?)"));
  for (const auto& [key, value] : s.run_stats) {
    row.BindText(0, std::get<0>(key));
    row.BindInt64(1, static_cast<int64_t>(std::get<1>(key)));
    row.BindTextOrNull(2, std::get<2>(key));
    row.BindInt64(3, value.first);
    row.BindTextOrNull(4, value.second);
    row.BindInt64(5, s.derived_stats.contains(key) ? 1 : 0);
    XLATRACE_TRY(row.Run());
  }
  if (!s.activity_rows.settled()) s.activity_rows.Settle(s.tables, nullptr, nullptr);
  XLATRACE_TRY(s.activity_rows.WriteDictionaries(*s.database));
  XLATRACE_ASSIGN(const uint32_t activity_root, RootPage(*s.database, "x_packed_activity"));
  XLATRACE_ASSIGN(const uint32_t range_root, RootPage(*s.database, "x_packed_range"));
  XLATRACE_ASSIGN(const uint32_t call_root, RootPage(*s.database, "x_packed_call"));
  XLATRACE_TRY(s.database->Execute("COMMIT"));
  // Statements go before the database that made them.
  info = Statement();
  row = Statement();
  for (Statement* statement :
       {&s.insert_string, &s.insert_process, &s.insert_thread, &s.insert_device, &s.insert_lane,
        &s.insert_config, &s.insert_hint, &s.insert_module, &s.insert_range_kind,
        &s.insert_nvtx_row, &s.insert_mark, &s.insert_compile}) {
    *statement = Statement();
  }
  s.database.reset();
  XLATRACE_TRY(s.AppendRows(activity_root, range_root, call_root));
  if (!Place(s.temporary, s.path, s.replace)) {
    if (!s.replace && errno == EEXIST) {
      return MakeError(
          fmt::format("output '{}' exists already: it came while this was written", s.path),
          "another name with -o FILE, or --force to replace it", ErrorCode::kUsage);
    }
    return MakeError(fmt::format("cannot write '{}': {}", s.path, std::strerror(errno)),
                     "name a place you may write to with -o FILE");
  }
  UnregisterTemporaryFile(s.temporary);
  s.finished = true;
  return {};
}

}  // namespace xlatrace::store
