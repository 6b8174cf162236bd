// SPDX-License-Identifier: Apache-2.0
#include "store/run_saver.h"

#include <cstdint>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "store/derived_writer.h"
#include "store/dictionary_key.h"
#include "store/host_sample_rows.h"
#include "store/job_writer.h"
#include "store/packed_row.h"
#include "store/schema.h"
#include "store/sqlite.h"
#include "store/table_builder.h"

namespace xlatrace::store {
namespace {

using model::Id;

std::optional<int64_t> NotNegative(int64_t value) {
  return value < 0 ? std::nullopt : std::optional<int64_t>(value);
}

std::optional<int64_t> NonZero(int64_t value) {
  return value == 0 ? std::nullopt : std::optional<int64_t>(value);
}

Status WriteTexts(Database& database, const RunContent& run) {
  XLATRACE_ASSIGN(Statement row, database.Prepare("INSERT INTO x_string VALUES(?,?)"));
  Id id = 0;
  for (const std::string* text : run.texts) {
    row.BindInt64(0, ++id);
    row.BindText(1, *text);
    XLATRACE_TRY(row.Run());
  }
  return {};
}

Status WriteProcesses(Database& database, const RunContent& run) {
  XLATRACE_ASSIGN(Statement row,
                  database.Prepare("INSERT INTO x_process VALUES(?,?,?,?,?,?,?,?,?,?,?)"));
  Id id = 0;
  for (const model::Process& process : run.tables.processes) {
    row.BindInt64(0, ++id);
    row.BindTextOrNull(1, process.host);
    row.BindOptional(2, process.pid);
    row.BindOptional(3, process.rank);
    row.BindOptional(4, process.local_rank);
    row.BindTextOrNull(5, process.command);
    row.BindOptional(6, process.clock_offset_ns);
    row.BindOptional(7, process.clock_error_ns);
    row.BindOptional(8, process.source_id);
    row.BindTextOrNull(9, process.name);
    row.BindOptional(10, process.recorded_from_ns);
    XLATRACE_TRY(row.Run());
  }
  XLATRACE_ASSIGN(row, database.Prepare("INSERT OR REPLACE INTO x_thread VALUES(?,?,?)"));
  for (const RunContent::Thread& thread : run.threads) {
    row.BindInt64(0, thread.process_id);
    row.BindInt64(1, thread.thread_id);
    row.BindText(2, thread.name);
    XLATRACE_TRY(row.Run());
  }
  return {};
}

Status WriteDevices(Database& database, const RunContent& run) {
  XLATRACE_ASSIGN(Statement row,
                  database.Prepare("INSERT INTO x_device VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,"
                                   "?,?,?,?,?)"));
  Id id = 0;
  for (const model::Device& device : run.tables.devices) {
    row.BindInt64(0, ++id);
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
    XLATRACE_TRY(row.Run());
  }
  return {};
}

Status WriteLanes(Database& database, const RunContent& run) {
  XLATRACE_ASSIGN(Statement row, database.Prepare("INSERT INTO x_lane VALUES(?,?,?,?,?,?)"));
  Id id = 0;
  for (const model::Lane& lane : run.tables.lanes) {
    row.BindInt64(0, ++id);
    row.BindInt64(1, lane.device_id);
    row.BindInt64(2, lane.stream_id);
    row.BindOptional(3, lane.context_id);
    row.BindTextOrNull(4, lane.name);
    row.BindOptional(5, lane.priority);
    XLATRACE_TRY(row.Run());
  }
  return {};
}

Status WriteConfigs(Database& database, const RunContent& run) {
  XLATRACE_ASSIGN(Statement row,
                  database.Prepare("INSERT INTO x_config VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,"
                                   "?,?,?,?,?,?,?,?,?,?)"));
  for (size_t n = 0; n < run.tables.configs.size(); ++n) {
    const model::LaunchConfig& config = run.tables.configs[n];
    const RunContent::ConfigTexts& texts = run.config_texts[n];
    row.BindInt64(0, static_cast<Id>(n) + 1);
    row.BindInt64(1, static_cast<int64_t>(config.kind));
    row.BindOptional(2, NonZero(texts.symbol));
    row.BindOptional(3, NonZero(texts.name));
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
    row.BindOptional(18, NonZero(texts.demangled));
    row.BindOptional(19, config.local_memory_per_thread_bytes);
    int column = 20;
    for (const auto& value : NsightColumns(config.nsight)) row.BindOptional(column++, value);
    XLATRACE_TRY(row.Run());
  }
  return {};
}

Status WriteHints(Database& database, const RunContent& run) {
  XLATRACE_ASSIGN(Statement row,
                  database.Prepare("INSERT INTO x_hint VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"));
  Id id = 0;
  for (const model::Hint& hint : run.tables.hints) {
    row.BindInt64(0, ++id);
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
    XLATRACE_TRY(row.Run());
  }
  return {};
}

Status WriteModules(Database& database, const RunContent& run) {
  XLATRACE_ASSIGN(Statement row,
                  database.Prepare("INSERT INTO x_module VALUES(?,?,?,?,?,?,?,?,?,?,NULL,NULL,0)"));
  for (size_t n = 0; n < run.modules.size(); ++n) {
    const model::ModuleInfo& info = run.tables.modules[n];
    const RunContent::Module& module = run.modules[n];
    row.BindInt64(0, static_cast<Id>(n) + 1);
    row.BindInt64(1, info.process_id);
    row.BindOptional(2, info.program_id);
    row.BindTextOrNull(3, info.name);
    row.BindInt64(4, static_cast<int64_t>(info.source));
    row.BindTextOrNull(5, info.file);
    row.BindInt64(6, static_cast<int64_t>(module.format));
    int column = 7;
    for (const std::string* packed :
         {&module.bytes, &module.thunk_sequence, &module.thunk_metadata}) {
      if (packed->empty()) {
        row.BindNull(column++);
      } else {
        row.BindBlob(column++, *packed);
      }
    }
    XLATRACE_TRY(row.Run());
  }
  return {};
}

Status WriteRanges(Database& database, const RunContent& run) {
  XLATRACE_ASSIGN(Statement row, database.Prepare("INSERT INTO x_range_kind VALUES(?,?,?,?,?,?)"));
  Id id = 0;
  for (const RangeRows::Kind& kind : run.ranges.kinds()) {
    row.BindInt64(0, ++id);
    row.BindInt64(1, kind.process_id);
    row.BindInt64(2, kind.thread_id);
    row.BindOptional(3,
                     kind.domain == 0 ? std::nullopt : NonZero(run.range_texts[kind.domain - 1]));
    row.BindInt64(4, run.range_texts[kind.text - 1]);
    row.BindOptional(5, NotNegative(kind.domain_number));
    XLATRACE_TRY(row.Run());
  }
  XLATRACE_ASSIGN(row, database.Prepare("INSERT INTO x_nvtx_row VALUES(?,?,?,?,?,?)"));
  for (const RunContent::NvtxRow& nvtx : run.nvtx_rows) {
    row.BindInt64(0, nvtx.global_tid);
    row.BindInt64(1, nvtx.event_type);
    row.BindOptional(2, nvtx.start_ns);
    row.BindOptional(3, nvtx.end_ns);
    row.BindInt64(4, nvtx.text_id);
    row.BindOptional(5, NotNegative(nvtx.domain_number));
    XLATRACE_TRY(row.Run());
  }
  return {};
}

Status WriteMarks(Database& database, const RunContent& run) {
  XLATRACE_ASSIGN(Statement row, database.Prepare("INSERT INTO x_step_mark VALUES(?,?,?,?)"));
  for (const model::StepMark& mark : run.tables.step_marks) {
    row.BindInt64(0, mark.process_id);
    row.BindInt64(1, mark.number);
    row.BindInt64(2, mark.start_ns);
    row.BindInt64(3, mark.end_ns);
    XLATRACE_TRY(row.Run());
  }
  return {};
}

Status WriteCompileDetails(Database& database, model::Id process_id,
                           const model::CompileFacts& facts) {
  XLATRACE_ASSIGN(Statement row,
                  database.Prepare("INSERT INTO x_compile_detail VALUES(?,?,?,?,?,?,?,?,?,?)"));
  for (const model::CompileDetail& detail : facts.details) {
    row.BindInt64(0, process_id);
    row.BindInt64(1, facts.compilation);
    row.BindText(2, detail.kind);
    row.BindTextOrNull(3, detail.name);
    row.BindTextOrNull(4, detail.before);
    row.BindTextOrNull(5, detail.after);
    row.BindOptional(6, detail.value);
    row.BindTextOrNull(7, detail.source_file);
    row.BindOptional(8, detail.source_line);
    row.BindInt64(9, detail.is_difference ? 1 : 0);
    XLATRACE_TRY(row.Run());
  }
  return {};
}

Status WriteCompiles(Database& database, const RunContent& run) {
  XLATRACE_ASSIGN(Statement row,
                  database.Prepare("INSERT INTO x_compile VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"));
  for (const RunContent::Compile& compile : run.compiles) {
    const model::CompileFacts none;
    const model::CompileFacts& facts = compile.facts ? *compile.facts : none;
    const auto flag = [&](bool value) {
      return compile.facts ? std::optional<int64_t>(value ? 1 : 0) : std::nullopt;
    };
    row.BindInt64(0, compile.process_id);
    row.BindOptional(1, NonZero(compile.module_id));
    row.BindText(2, compile.name);
    row.BindInt64(3, compile.start_ns);
    row.BindInt64(4, compile.end_ns);
    row.BindInt64(5, static_cast<int64_t>(compile.stage));
    row.BindOptional(6, NonZero(facts.compilation));
    row.BindTextOrNull(7, facts.source_file);
    row.BindOptional(8, facts.source_line);
    row.BindTextOrNull(9, facts.function_file);
    row.BindOptional(10, facts.function_line);
    row.BindOptional(11, flag(facts.is_library));
    row.BindOptional(12, flag(facts.is_operation));
    row.BindOptional(13, flag(facts.is_again));
    row.BindOptional(14, flag(facts.is_unfinished));
    XLATRACE_TRY(row.Run());
    if (!facts.details.empty() && facts.compilation != 0) {
      XLATRACE_TRY(WriteCompileDetails(database, compile.process_id, facts));
    }
  }
  return {};
}

Status WriteWindows(Database& database, const model::RunTables& tables) {
  XLATRACE_ASSIGN(Statement row, database.Prepare("INSERT INTO x_window VALUES(?,?,?,?)"));
  for (const model::Window& window : tables.windows) {
    row.BindInt64(0, window.process_id);
    row.BindInt64(1, window.start_ns);
    row.BindInt64(2, window.end_ns);
    row.BindInt64(3, static_cast<int64_t>(window.why_ended));
    XLATRACE_TRY(row.Run());
  }
  XLATRACE_ASSIGN(row, database.Prepare("INSERT INTO x_loss VALUES(?,?,?,?,?,?)"));
  for (const model::Loss& loss : tables.losses) {
    row.BindInt64(0, loss.process_id);
    row.BindInt64(1, loss.start_ns);
    row.BindInt64(2, loss.end_ns);
    row.BindInt64(3, loss.at_least);
    row.BindTextOrNull(4, loss.cause);
    row.BindOptional(5, NonZero(loss.correlation));
    XLATRACE_TRY(row.Run());
  }
  XLATRACE_ASSIGN(row, database.Prepare("INSERT INTO x_ending VALUES(?,?,?,?,?)"));
  for (const model::ProcessEnding& ending : tables.endings) {
    row.BindInt64(0, ending.process_id);
    row.BindInt64(1, static_cast<int64_t>(ending.how));
    row.BindOptional(2, ending.signal);
    row.BindOptional(3, ending.unrecorded_from_ns);
    row.BindOptional(4, ending.unrecorded_tail_ns);
    XLATRACE_TRY(row.Run());
  }
  return {};
}

Status WriteFacts(Database& database, const RunContent& run) {
  XLATRACE_ASSIGN(Statement row, database.Prepare("INSERT INTO x_run_info VALUES(?,?)"));
  for (const auto& [key, value] : run.run_info) {
    row.BindText(0, key);
    row.BindTextOrNull(1, value);
    XLATRACE_TRY(row.Run());
  }
  XLATRACE_ASSIGN(row, database.Prepare("INSERT INTO x_run_stat VALUES(?,?,?,?,?,?)"));
  for (const auto& [key, value] : run.run_stats) {
    const auto& [name, severity, source] = key;
    row.BindText(0, name);
    row.BindInt64(1, static_cast<int64_t>(severity));
    row.BindTextOrNull(2, source);
    row.BindInt64(3, value.first);
    row.BindTextOrNull(4, value.second);
    row.BindInt64(5, run.derived_stats.contains(key) ? 1 : 0);
    XLATRACE_TRY(row.Run());
  }
  return {};
}

Result<uint32_t> RootPage(Database& database, std::string_view table) {
  XLATRACE_ASSIGN(const std::optional<int64_t> page,
                  database.QueryInt64(
                      fmt::format("SELECT rootpage FROM sqlite_master WHERE name = '{}'", table)));
  return static_cast<uint32_t>(page.value_or(0));
}

// Root pages of the tables whose rows are not INSERTed.
struct PackedRoots {
  uint32_t activity = 0;
  uint32_t range = 0;
  uint32_t call = 0;
  uint32_t gap = 0;
  uint32_t path = 0;
};

// Writes all tables except the packed rows, and closes the database.
Result<PackedRoots> WriteTables(const std::string& path, RunContent& run,
                                const model::AttributionTables* attribution,
                                const model::AnalysisTables* analysis,
                                const model::JobTables* job) {
  XLATRACE_ASSIGN(Database database, Database::Create(path));
  XLATRACE_TRY(database.Execute(fmt::format(
      "PRAGMA application_id={}; PRAGMA user_version={}; BEGIN;", kApplicationId, kSchemaVersion)));
  XLATRACE_TRY(database.Execute(TablesSql()));
  XLATRACE_TRY(database.Execute(ViewsSql()));
  for (const auto& write :
       {WriteTexts, WriteProcesses, WriteDevices, WriteLanes, WriteConfigs, WriteHints,
        WriteModules, WriteRanges, WriteMarks, WriteCompiles, WriteFacts}) {
    XLATRACE_TRY(write(database, run));
  }
  XLATRACE_TRY(WriteWindows(database, run.tables));
  XLATRACE_TRY(WriteHostSamples(database, run.tables.host_samples));
  if (attribution != nullptr) XLATRACE_TRY(WriteAttribution(database, *attribution));
  if (analysis != nullptr) XLATRACE_TRY(WriteAnalysis(database, *attribution, *analysis));
  if (analysis != nullptr) XLATRACE_TRY(WriteTimeTree(database, run.time_tree));
  if (analysis != nullptr) XLATRACE_TRY(WriteGapStacks(database, run.gap_stacks));
  if (analysis != nullptr) XLATRACE_TRY(WriteMemory(database, run.memory));
  if (job != nullptr) XLATRACE_TRY(WriteJob(database, *job));
  run.activity_rows.Settle(run.tables, analysis != nullptr ? attribution : nullptr, analysis);
  XLATRACE_TRY(run.activity_rows.WriteDictionaries(database));
  PackedRoots roots;
  XLATRACE_ASSIGN(roots.activity, RootPage(database, kPackedActivity));
  XLATRACE_ASSIGN(roots.range, RootPage(database, "x_packed_range"));
  XLATRACE_ASSIGN(roots.call, RootPage(database, "x_packed_call"));
  XLATRACE_ASSIGN(roots.gap, RootPage(database, "x_other_gap"));
  XLATRACE_ASSIGN(roots.path, RootPage(database, "x_critical_path"));
  XLATRACE_TRY(database.Execute("COMMIT"));
  return roots;
}

// Appends the rows that exist once per activity, range, call or gap.
Status AppendRows(const std::string& path, const PackedRoots& roots, RunContent& run,
                  const model::AnalysisTables* analysis) {
  XLATRACE_ASSIGN(BulkFile file, BulkFile::Open(path));
  const auto add_leaf = [&](std::string_view page, int64_t last) { file.AddLeaf(page, last); };
  const auto append = [&](uint32_t root, const auto& write) {
    TableBuilder rows(add_leaf);
    write(rows);
    rows.Finish();
    return file.EndTable(root);
  };
  XLATRACE_TRY(append(roots.activity,
                      [&](TableBuilder& rows) { run.activity_rows.WriteRows(run.tables, rows); }));
  XLATRACE_TRY(run.ranges.Drain(add_leaf));
  XLATRACE_TRY(file.EndTable(roots.range));
  XLATRACE_TRY(run.call_pages.Drain(add_leaf));
  XLATRACE_TRY(file.EndTable(roots.call));
  XLATRACE_TRY(
      append(roots.gap, [&](TableBuilder& rows) { run.activity_rows.WriteOtherGaps(rows); }));
  if (analysis != nullptr) {
    XLATRACE_TRY(
        append(roots.path, [&](TableBuilder& rows) { WriteCriticalPath(*analysis, rows); }));
  }
  return file.Close();
}

// Indices of the tables that were appended page by page.
Status FillIndices(const std::string& path) {
  XLATRACE_ASSIGN(Database database, Database::OpenUnfinished(path));
  return database.Execute("REINDEX x_critical_path_key");
}

}  // namespace

Result<RunSaver> RunSaver::Create(const std::string& path, bool replace) {
  XLATRACE_ASSIGN(OutputFile file, OutputFile::Create(path, replace));
  return RunSaver(std::move(file));
}

Status RunSaver::Save(RunBuilder& run, const model::AttributionTables* attribution,
                      const model::AnalysisTables* analysis, const model::JobTables* job) {
  XLATRACE_TRY(run.status());
  RunContent& content = run.Settled();
  XLATRACE_ASSIGN(const PackedRoots roots,
                  WriteTables(file_.temporary(), content, attribution, analysis, job));
  XLATRACE_TRY(AppendRows(file_.temporary(), roots, content, analysis));
  if (analysis != nullptr && !analysis->critical_path.empty()) {
    XLATRACE_TRY(FillIndices(file_.temporary()));
  }
  return file_.Place();
}

}  // namespace xlatrace::store
