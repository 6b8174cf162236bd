// SPDX-License-Identifier: Apache-2.0

// Tables of the run itself: environment, devices, modules, executions, compilations.

#include <string>
#include <unordered_map>

#include "analysis/device_facts.h"
#include "analysis/gpu_table.h"
#include "report/glyphs.h"
#include "report/page/page_context.h"
#include "report/shown_words.h"

namespace xlatrace::report {
namespace {

using store::Table;

constexpr int64_t kMaxExecutionRows = 200'000;
constexpr int64_t kMaxCompileRows = 50'000;

Status WriteFacts(PageContext& page) {
  PageTable info("run_info", page.blocks.strings());
  info.Declare("key:text value:text");
  XLATRACE_ASSIGN(const Table rows, page.db.Select("SELECT key, value FROM run_info ORDER BY key"));
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    const std::string key = rows.Text(i, "key");
    info.SetText(0, key);
    // Texts about a job are sentences; paths and commands stay as they are.
    const std::string value = rows.Text(i, "value");
    info.SetText(1, key.starts_with("job") ? WithGlyphs(value) : value);
    info.EndRow();
  }
  page.blocks.Write(info);

  PageTable stats("run_stats", page.blocks.strings());
  stats.Declare("name:text severity:word source:text value advice:text");
  for (const StatFigure& stat : page.view.stats) {  // Worst first.
    stats.SetText(0, stat.name);
    stats.SetText(1, Text(stat.severity));
    stats.SetText(2, stat.source);
    stats.Set(3, stat.value);
    stats.SetText(4, WithGlyphs(stat.advice));
    stats.EndRow();
  }
  page.blocks.Write(stats);
  return {};
}

// Row numbers of a table that is written in the order of its ids.
Result<IdRows> RowsOf(store::RunDb& db, std::string_view sql) {
  XLATRACE_ASSIGN(const Table ids, db.Select(sql));
  IdRows rows;
  for (size_t i = 0; i < ids.rows.size(); ++i) {
    rows.emplace(ids.Int(i, "id"), static_cast<int64_t>(i));
  }
  return rows;
}

Status Devices(PageContext& page) {
  XLATRACE_ASSIGN(page.processes,
                  RowsOf(page.db, "SELECT process_id AS id FROM process ORDER BY process_id"));
  PageTable processes("processes", page.blocks.strings());
  processes.Declare(
      "process_id host:text pid rank local_rank command:text clock_offset_ns clock_error_ns");
  XLATRACE_TRY(FillTable(page.db,
                         "SELECT process_id, host, pid, rank, local_rank, command,"
                         " clock_offset_ns, clock_error_ns FROM process ORDER BY process_id",
                         processes));
  page.blocks.Write(processes);

  XLATRACE_ASSIGN(page.devices,
                  RowsOf(page.db, "SELECT device_id AS id FROM device ORDER BY device_id"));
  PageTable devices("devices", page.blocks.strings());
  devices.Declare(
      "device_id process>processes host:text ordinal uuid:text name:text kind:word"
      " compute_capability:text sm_count clock_hz memory_bandwidth_bytes_per_s memory_bytes"
      " max_threads_per_sm max_blocks_per_sm registers_per_sm shared_memory_per_sm_bytes"
      " shared_memory_per_block_bytes shared_memory_per_block_optin_bytes"
      " shared_memory_reserved_per_block_bytes max_threads_per_block registers_per_block warp_size"
      " l2_bytes peak_flops:text gpu:text peaks_source:text host_link_bytes_per_s"
      " peer_link_bytes_per_s");
  XLATRACE_TRY(FillTable(
      page.db,
      "SELECT device_id, process_id, host, ordinal, uuid, " + std::string(kDeviceNameSql) +
          " AS name, kind, compute_capability, sm_count,"
          " clock_hz, memory_bandwidth_bytes_per_s, memory_bytes, max_threads_per_sm,"
          " max_blocks_per_sm, registers_per_sm, shared_memory_per_sm_bytes,"
          " shared_memory_per_block_bytes, shared_memory_per_block_optin_bytes,"
          " shared_memory_reserved_per_block_bytes, max_threads_per_block, registers_per_block,"
          " warp_size, l2_bytes, peak_flops, gpu, peaks_source, host_link_bytes_per_s,"
          " peer_link_bytes_per_s FROM device ORDER BY device_id",
      devices, {&page.processes}));
  page.blocks.Write(devices);

  PageTable streams("streams", page.blocks.strings());
  streams.Declare("device>devices stream_id name:text priority");
  XLATRACE_ASSIGN(const Table rows, page.db.Select("SELECT device_id, stream_id, name, priority"
                                                   " FROM stream ORDER BY device_id, stream_id"));
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    page.streams.emplace(std::pair(rows.Int(i, "device_id"), rows.Int(i, "stream_id", kNoStreamId)),
                         static_cast<int64_t>(i));
    for (size_t c = 0; c < 4; ++c) SetCell(streams, c, rows.rows[i][c], &page.devices);
    streams.EndRow();
  }
  page.blocks.Write(streams);
  return {};
}

// Known GPUs, for predictions on other GPUs.
void Gpus(PageContext& page) {
  PageTable table("gpus", page.blocks.strings());
  table.Declare(
      "name:text compute_capability:text sm_count clock_hz memory_bandwidth_bytes_per_s"
      " memory_bytes max_threads_per_sm max_blocks_per_sm registers_per_sm"
      " shared_memory_per_sm_bytes shared_memory_per_block_bytes"
      " shared_memory_per_block_optin_bytes shared_memory_reserved_per_block_bytes"
      " max_threads_per_block registers_per_block warp_size l2_bytes peak_flops:text"
      " host_link_bytes_per_s peer_link_bytes_per_s shared_memory_granularity_bytes"
      " register_granularity sub_partitions source:text");
  for (const analysis::Gpu& gpu : analysis::AllGpus()) {
    const analysis::DeviceFacts facts = analysis::FactsOf(gpu);
    const model::DeviceFactsRow row = analysis::RowOf(facts);
    table.SetText(0, gpu.name);
    table.SetText(1, gpu.compute_capability);
    size_t column = 2;
    for (const auto* value :
         {&row.sm_count, &row.clock_hz, &row.memory_bandwidth_bytes_per_s, &row.memory_bytes,
          &row.max_threads_per_sm, &row.max_blocks_per_sm, &row.registers_per_sm,
          &row.shared_memory_per_sm_bytes, &row.shared_memory_per_block_bytes,
          &row.shared_memory_per_block_optin_bytes, &row.shared_memory_reserved_per_block_bytes,
          &row.max_threads_per_block, &row.registers_per_block, &row.warp_size, &row.l2_bytes}) {
      table.Set(column++, *value);
    }
    table.SetText(17, row.peak_flops);
    table.Set(18, row.host_link_bytes_per_s);
    table.Set(19, row.peer_link_bytes_per_s);
    if (facts.limits) {
      table.Set(20, facts.limits->shared_memory_granularity_bytes);
      table.Set(21, facts.limits->register_granularity);
      table.Set(22, facts.limits->sub_partitions);
    }
    table.SetText(23, gpu.source);
    table.EndRow();
  }
  page.blocks.Write(table);
}

Status Modules(PageContext& page) {
  XLATRACE_ASSIGN(
      const Table rows,
      page.db.Select("SELECT module_id, handle, process_id, program_id, name, fingerprint, role,"
                     " role_reason, framework_function, instruction_count, flops, bytes,"
                     " peak_memory_bytes, source, file FROM module"));
  std::unordered_map<int64_t, size_t> row_of;
  for (size_t i = 0; i < rows.rows.size(); ++i) row_of.emplace(rows.Int(i, "module_id"), i);
  PageTable modules("modules", page.blocks.strings());
  modules.Declare(
      "module_id handle:text process>processes program_id name:text fingerprint:text role:word"
      " role_reason:text framework_function:text instruction_count flops bytes peak_memory_bytes"
      " source:word file:text executions ns self_ns");
  for (const ModuleFigure& module : page.view.modules) {
    page.modules.emplace(module.module_id, static_cast<int64_t>(modules.rows()));
    const auto& row = rows.rows[row_of.at(module.module_id)];
    for (size_t c = 0; c < row.size(); ++c) SetCell(modules, c, row[c], &page.processes);
    modules.Set(15, module.executions);
    modules.Set(16, module.ns);
    modules.Set(17, module.run_ns);
    modules.EndRow();
  }
  page.blocks.Write(modules);
  return {};
}

// At most `most` rows of a view, and the number of further rows.
Status Limited(PageContext& page, PageTable& table, const std::string& columns,
               const std::string& from, int64_t most, const std::vector<const IdRows*>& refs) {
  XLATRACE_ASSIGN(const Table count, page.db.Select("SELECT count(*) AS n FROM " + from));
  XLATRACE_TRY(FillTable(
      page.db,
      "SELECT " + columns + " FROM " + from + " ORDER BY start_ns LIMIT " + std::to_string(most),
      table, refs));
  page.blocks.Write(table);
  page.blocks.LeftOut(table.name(), count.Int(0, "n") - most, 0);
  return {};
}

}  // namespace

Status WriteRunTables(PageContext& page) {
  XLATRACE_TRY(WriteFacts(page));
  XLATRACE_TRY(Devices(page));
  Gpus(page);
  XLATRACE_TRY(Modules(page));
  PageTable executions("executions", page.blocks.strings());
  executions.Declare(
      "module>modules device>devices start_ns:delta end_ns:delta activities complete");
  XLATRACE_TRY(Limited(page, executions,
                       "module_id, device_id, start_ns, end_ns, activities, complete", "execution",
                       kMaxExecutionRows, {&page.modules, &page.devices}));
  PageTable compiles("compiles", page.blocks.strings());
  compiles.Declare("process>processes module>modules name:text start_ns:delta end_ns:delta");
  return Limited(page, compiles, "process_id, module_id, name, start_ns, end_ns", "compile",
                 kMaxCompileRows, {&page.processes, &page.modules});
}

}  // namespace xlatrace::report
