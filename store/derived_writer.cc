// SPDX-License-Identifier: Apache-2.0
#include "store/derived_writer.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "base/compress.h"

namespace xlatrace::store {
namespace {

using model::Id;

// An id for which 0 means none.
struct IdOrNull {
  Id value;
};

void Bind(Statement& row, int column, const std::optional<int64_t>& value) {
  row.BindOptional(column, value);
}
void Bind(Statement& row, int column, IdOrNull id) {
  if (id.value == 0) {
    row.BindNull(column);
  } else {
    row.BindInt64(column, id.value);
  }
}
void Bind(Statement& row, int column, const std::string& text) { row.BindTextOrNull(column, text); }
template <typename T>
requires std::is_integral_v<T> || std::is_enum_v<T>
void Bind(Statement& row, int column, T value) {
  row.BindInt64(column, static_cast<int64_t>(value));
}

template <typename... Values>
Status Insert(Statement& row, const Values&... values) {
  int column = 0;
  (Bind(row, column++, values), ...);
  return row.Run();
}

// "INSERT INTO table VALUES(?,?...)" with `columns` question marks.
Result<Statement> PrepareInsert(Database& database, std::string_view table, int columns) {
  std::string sql = fmt::format("INSERT INTO {} VALUES(?", table);
  for (int i = 1; i < columns; ++i) sql += ",?";
  return database.Prepare(sql + ")");
}

// Numbers of call stacks. A row that has a line and no stack gets a stack of this one line.
class StackNumbers {
 public:
  explicit StackNumbers(const model::AttributionTables& attribution)
      : places_(attribution.source_places), stacks_(attribution.source_stacks) {}

  template <typename Row>
  IdOrNull Of(const Row& row) {
    if (row.stack_id != 0 || row.source_file.empty()) return {row.stack_id};
    const auto [at, fresh] = of_line_.try_emplace({row.source_file, row.source_line.value_or(0)},
                                                  static_cast<Id>(stacks_.size()) + 1);
    if (fresh) {
      stacks_.push_back({{static_cast<uint32_t>(places_.size())}});
      places_.push_back({row.source_file, {}, row.source_line.value_or(0), true});
    }
    return {at->second};
  }

  Status Write(Database& db) const {
    XLATRACE_TRY(
        db.Execute("DELETE FROM x_source_place; DELETE FROM x_source_stack; "
                   "DELETE FROM x_source_frame"));
    XLATRACE_ASSIGN(Statement place, PrepareInsert(db, "x_source_place", 5));
    Id id = 0;
    for (const model::SourcePlace& p : places_) {
      const std::optional<int64_t> line = p.line > 0 ? std::optional(p.line) : std::nullopt;
      XLATRACE_TRY(Insert(place, ++id, p.file, line, p.function, p.is_user));
    }
    XLATRACE_ASSIGN(Statement stack, PrepareInsert(db, "x_source_stack", 4));
    XLATRACE_ASSIGN(Statement frame, PrepareInsert(db, "x_source_frame", 3));
    id = 0;
    for (const model::SourceStack& s : stacks_) {
      const auto place_id = [&](size_t k) { return static_cast<Id>(s.places[k]) + 1; };
      XLATRACE_TRY(Insert(stack, ++id, place_id(s.user), IdOrNull{s.user == 0 ? 0 : place_id(0)},
                          s.is_library));
      for (size_t depth = 0; depth < s.places.size(); ++depth) {
        XLATRACE_TRY(Insert(frame, id, depth, place_id(depth)));
      }
    }
    return {};
  }

 private:
  std::vector<model::SourcePlace> places_;
  std::vector<model::SourceStack> stacks_;
  std::map<std::pair<std::string, int64_t>, Id> of_line_;
};

Status WriteInstructions(Database& db, const model::AttributionTables& attribution,
                         StackNumbers& stacks) {
  XLATRACE_TRY(db.Execute("DELETE FROM x_instruction; DELETE FROM x_instruction_share"));
  XLATRACE_ASSIGN(Statement row, PrepareInsert(db, "x_instruction", 20));
  Id id = 0;
  for (const model::InstructionRow& i : attribution.instructions) {
    XLATRACE_TRY(Insert(row, ++id, IdOrNull{i.module_id}, i.name, i.computation, i.opcode,
                        i.category, i.op_kind, i.shape, i.operands, i.op_name, i.op_name_method,
                        i.op_type, stacks.Of(i), i.phase, i.layer, i.layer_group, i.mixed, i.flops,
                        i.bytes, i.fusion_kind));
  }
  XLATRACE_ASSIGN(Statement share, PrepareInsert(db, "x_instruction_share", 7));
  for (const model::ShareRow& s : attribution.shares) {
    XLATRACE_TRY(Insert(share, s.instruction_id, s.share_ppm, s.op_name, s.phase, s.layer,
                        s.layer_group, stacks.Of(s)));
  }
  return {};
}

// Added modules, and the program ids of modules whose HLO has another id.
Status WriteAddedModules(Database& db, const model::AttributionTables& attribution) {
  XLATRACE_TRY(
      db.Execute("DELETE FROM x_module WHERE added; "
                 "UPDATE x_module SET told_program_id = NULL"));
  XLATRACE_ASSIGN(Statement told,
                  db.Prepare("UPDATE x_module SET told_program_id = ? WHERE module_id = ?"));
  const size_t own = attribution.modules.size() - attribution.added_modules.size();
  for (size_t m = 0; m < own; ++m) {
    if (!attribution.modules[m].program_id) continue;
    XLATRACE_TRY(Insert(told, attribution.modules[m].program_id, m + 1));
  }
  XLATRACE_ASSIGN(
      Statement row,
      db.Prepare("INSERT INTO x_module(module_id, process_id, program_id, name, source, file, "
                 "format, hlo_module_id, added) VALUES(?1, ?2, ?3, ?4, "
                 "coalesce((SELECT source FROM x_module WHERE module_id = ?5), ?6), "
                 "(SELECT file FROM x_module WHERE module_id = ?5), 0, ?5, 1)"));
  for (size_t m = 0; m < attribution.added_modules.size(); ++m) {
    const model::AddedModule& added = attribution.added_modules[m];
    XLATRACE_TRY(Insert(row, own + m + 1, added.process_id, added.program_id, added.name,
                        IdOrNull{added.hlo_module_id}, model::ModuleSource::kAnnotation));
  }
  return {};
}

// Handles of modules: 1 for the one with the most device time.
Status WriteModuleRanks(Database& db, const model::AttributionTables& attribution,
                        const model::AnalysisTables& analysis) {
  std::vector<int64_t> time(attribution.modules.size(), 0);
  for (const model::OpTimeRow& op : analysis.op_times) {
    if (op.module_id > 0) time[static_cast<size_t>(op.module_id) - 1] += op.self_ns;
  }
  std::vector<size_t> order(time.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return time[a] > time[b]; });
  XLATRACE_ASSIGN(Statement row,
                  db.Prepare("UPDATE x_module_facts SET rank = ? WHERE module_id = ?"));
  for (size_t rank = 0; rank < order.size(); ++rank) {
    XLATRACE_TRY(Insert(row, rank + 1, order[rank] + 1));
  }
  return {};
}

Status WriteDeviceFacts(Database& db, const model::AnalysisTables& analysis) {
  XLATRACE_ASSIGN(Statement row, PrepareInsert(db, "x_device_facts", 22));
  Id id = 0;
  for (const model::DeviceFactsRow& d : analysis.devices) {
    XLATRACE_TRY(Insert(
        row, ++id, d.gpu, d.peaks_source, d.compute_capability, d.sm_count, d.clock_hz,
        d.memory_bandwidth_bytes_per_s, d.memory_bytes, d.max_threads_per_sm, d.max_blocks_per_sm,
        d.registers_per_sm, d.shared_memory_per_sm_bytes, d.shared_memory_per_block_optin_bytes,
        d.warp_size, d.shared_memory_per_block_bytes, d.shared_memory_reserved_per_block_bytes,
        d.max_threads_per_block, d.registers_per_block, d.l2_bytes, d.peak_flops,
        d.host_link_bytes_per_s, d.peer_link_bytes_per_s));
  }
  XLATRACE_ASSIGN(row, PrepareInsert(db, "x_occupancy", 6));
  for (const model::OccupancyRow& o : analysis.occupancies) {
    XLATRACE_TRY(Insert(row, o.config_id, o.device_id, o.theoretical_milli_pct, o.limiter,
                        o.blocks_per_sm, o.waves_milli));
  }
  return {};
}

}  // namespace

Status WriteAttribution(Database& db, const model::AttributionTables& attribution) {
  for (const char* table : {"x_module_facts", "x_label", "x_label_share", "x_execution"}) {
    XLATRACE_TRY(db.Execute(fmt::format("DELETE FROM {}", table)));
  }
  XLATRACE_ASSIGN(Statement facts, PrepareInsert(db, "x_module_facts", 10));
  Id id = 0;
  for (const model::ModuleFacts& m : attribution.modules) {
    ++id;
    XLATRACE_TRY(Insert(facts, id, m.fingerprint, m.role, m.role_reason, m.framework_function,
                        m.instruction_count, m.flops, m.bytes, m.peak_memory_bytes, id));
  }
  XLATRACE_TRY(WriteAddedModules(db, attribution));
  XLATRACE_ASSIGN(Statement label, PrepareInsert(db, "x_label", 8));
  id = 0;
  for (const model::Label& l : attribution.labels) {
    const std::optional<int64_t> reason =
        l.instruction_id != 0 ? std::nullopt
                              : std::optional<int64_t>(static_cast<int64_t>(l.reason));
    XLATRACE_TRY(Insert(label, ++id, IdOrNull{l.module_id}, IdOrNull{l.instruction_id}, l.evidence,
                        l.confidence, reason, l.origin, l.losers));
  }
  XLATRACE_ASSIGN(Statement share, PrepareInsert(db, "x_label_share", 3));
  for (const model::LabelShareRow& s : attribution.label_shares) {
    XLATRACE_TRY(Insert(share, s.label_id, s.instruction_id, s.share_ppm));
  }
  XLATRACE_ASSIGN(Statement execution, PrepareInsert(db, "x_execution", 7));
  id = 0;
  for (const model::Execution& e : attribution.executions) {
    XLATRACE_TRY(Insert(execution, ++id, e.module_id, e.device_id, e.start_ns, e.end_ns,
                        e.activities, e.complete));
  }
  return {};
}

Status WriteAnalysis(Database& db, const model::AttributionTables& attribution,
                     const model::AnalysisTables& analysis) {
  for (const char* table :
       {"x_step", "x_op_time", "x_scope_time", "x_phase_time", "x_step_part", "x_busy_time",
        "x_launch_queue", "x_late_rank", "x_collective", "x_finding", "x_gap_evidence",
        "x_ruled_out", "x_device_facts", "x_occupancy", "x_replay"}) {
    XLATRACE_TRY(db.Execute(fmt::format("DELETE FROM {}", table)));
  }
  StackNumbers stacks(attribution);
  XLATRACE_TRY(WriteInstructions(db, attribution, stacks));
  XLATRACE_TRY(WriteModuleRanks(db, attribution, analysis));

  XLATRACE_ASSIGN(Statement row, PrepareInsert(db, "x_step", 12));
  for (const model::StepRow& s : analysis.steps) {
    XLATRACE_TRY(Insert(row, s.step, s.process_id, s.device_id, s.start_ns, s.end_ns, s.device_ns,
                        s.busy_ns, s.steady, s.how, s.has_duration, s.first_execution, s.typical));
  }
  XLATRACE_ASSIGN(row, PrepareInsert(db, "x_op_time", 23));
  Id id = 0;
  for (const model::OpTimeRow& o : analysis.op_times) {
    XLATRACE_TRY(Insert(row, ++id, IdOrNull{o.module_id}, IdOrNull{o.instruction_id}, o.occurrences,
                        o.total_ns, o.self_ns, o.steady_ns, o.min_ns, o.max_ns, o.flops, o.bytes,
                        o.wasted_ns, o.bound_by, o.theoretical_occupancy_milli_pct, o.confidence,
                        o.estimated, o.expected_ns, o.compute_utilisation_milli_pct,
                        o.memory_utilisation_milli_pct, o.compute_type, o.occupancy_limiter,
                        o.critical_milli_pct, o.slack_ns));
  }
  XLATRACE_ASSIGN(row, PrepareInsert(db, "x_scope_time", 7));
  for (const model::ScopeTimeRow& s : analysis.scope_times) {
    XLATRACE_TRY(Insert(row, s.op_name, s.layer, s.layer_group, s.phase, stacks.Of(s), s.self_ns,
                        s.estimated_ns));
  }
  XLATRACE_TRY(stacks.Write(db));
  XLATRACE_ASSIGN(row, PrepareInsert(db, "x_phase_time", 5));
  for (const model::PhaseTimeRow& p : analysis.phase_times) {
    XLATRACE_TRY(Insert(row, p.device_id, p.step, p.phase, p.self_ns, p.estimated_ns));
  }
  XLATRACE_ASSIGN(row, PrepareInsert(db, "x_step_part", 4));
  for (const model::StepPartRow& p : analysis.step_parts) {
    XLATRACE_TRY(Insert(row, p.device_id, p.step, p.part, p.wall_ns));
  }
  XLATRACE_ASSIGN(row, PrepareInsert(db, "x_busy_time", 12));
  for (const model::BusyTimeRow& b : analysis.busy_times) {
    XLATRACE_TRY(Insert(row, b.device_id, b.start_ns, b.end_ns, b.busy_ns, b.idle_ns, b.overlap_ns,
                        b.compute_ns, b.collective_ns, b.exposed_collective_ns, b.copy_ns,
                        b.exposed_copy_ns, b.steady_busy_ns));
  }
  XLATRACE_ASSIGN(row, PrepareInsert(db, "x_launch_queue", 12));
  for (const model::LaunchQueueRow& q : analysis.launch_queues) {
    XLATRACE_TRY(Insert(row, q.device_id, q.steady, q.calls, q.calls_on_idle, q.call_p50_ns,
                        q.latency_p50_ns, q.latency_p90_ns, q.queued_p50_ns, q.queued_p90_ns,
                        q.outstanding_p50, q.outstanding_p90, q.outstanding_max));
  }
  XLATRACE_ASSIGN(row, PrepareInsert(db, "x_late_rank", 7));
  if (const auto& late = analysis.late_rank) {
    XLATRACE_TRY(Insert(row, late->process_id, late->device_id, late->ranks, late->by_host,
                        late->cost_ns, late->excess_ns, late->step_ns));
  }
  XLATRACE_ASSIGN(row, PrepareInsert(db, "x_collective", 10));
  for (const model::CollectiveRow& c : analysis.collectives) {
    XLATRACE_TRY(Insert(row, c.activity_id, c.op, c.bytes, c.group_size, c.group_id,
                        c.algorithm_bandwidth_bytes_per_s, c.bus_bandwidth_bytes_per_s,
                        c.exposed_ns, c.wait_ns, c.arrival_skew_ns));
  }
  XLATRACE_TRY(WriteDeviceFacts(db, analysis));
  XLATRACE_ASSIGN(row, PrepareInsert(db, "x_gap_evidence", 2));
  for (const model::GapEvidenceRow& e : analysis.gap_evidence) {
    XLATRACE_TRY(Insert(row, analysis.gaps[e.gap].next_activity_id, e.text));
  }
  XLATRACE_ASSIGN(row, PrepareInsert(db, "x_finding", 19));
  id = 0;
  for (const model::FindingRow& f : analysis.findings) {
    XLATRACE_TRY(Insert(row, ++id, f.id, f.title, f.sentence, f.headline, f.reason,
                        f.saves_low_ns_per_step, f.saves_high_ns_per_step, f.saves_low_ns_per_run,
                        f.saves_high_ns_per_run, f.basis, f.confidence, f.where_op, f.where_layer,
                        f.where_source, f.evidence_json, f.action, f.how_to_check,
                        f.replay_error_milli_pct));
  }
  XLATRACE_ASSIGN(row, PrepareInsert(db, "x_replay", 7));
  for (const model::ReplayRow& r : analysis.replays) {
    XLATRACE_TRY(Insert(row, r.steps, r.step_ns, r.error_milli_pct, r.largest_error_milli_pct,
                        r.withheld, r.all_findings_step_ns, r.assumptions_json));
  }
  XLATRACE_ASSIGN(row, PrepareInsert(db, "x_ruled_out", 7));
  id = 0;
  for (const model::RuledOutRow& r : analysis.ruled_out) {
    XLATRACE_TRY(Insert(row, ++id, r.id, r.withheld, r.text, r.what, r.figure, r.evidence_json));
  }
  return {};
}

Status WriteTimeTree(Database& db, const std::vector<model::TimeTreeRow>& rows) {
  XLATRACE_TRY(db.Execute("DELETE FROM x_time_tree"));
  XLATRACE_ASSIGN(Statement row, PrepareInsert(db, "x_time_tree", 13));
  Id id = 0;
  for (const model::TimeTreeRow& t : rows) {
    XLATRACE_TRY(Insert(row, ++id, IdOrNull{t.parent_id}, IdOrNull{t.process_id},
                        IdOrNull{t.device_id}, t.kind, t.name, IdOrNull{t.instruction_id},
                        t.source_file, t.source_line, t.ns, t.per_step_ns, t.p25_ns, t.p75_ns));
  }
  return {};
}

Status WriteMemory(Database& db, const model::MemoryTables& memory) {
  XLATRACE_TRY(db.Execute("DELETE FROM x_buffer; DELETE FROM x_memory_position"));
  XLATRACE_ASSIGN(Statement row, PrepareInsert(db, "x_buffer", 14));
  Id id = 0;
  for (const model::BufferRow& b : memory.buffers) {
    XLATRACE_TRY(Insert(row, ++id, b.module_id, b.allocation, b.offset_bytes, b.bytes, b.peak_bytes,
                        b.memory_space, std::string(model::Text(b.owner)), b.instruction,
                        b.shape_index, b.shape, IdOrNull{b.described_by}, b.first, b.last));
  }
  XLATRACE_ASSIGN(row, PrepareInsert(db, "x_memory_position", 6));
  for (const model::MemoryPositionRow& p : memory.positions) {
    XLATRACE_TRY(Insert(row, p.module_id, p.position, IdOrNull{p.instruction_id}, p.bytes,
                        p.start_ns, p.end_ns));
  }
  return {};
}

void WriteCriticalPath(const model::AnalysisTables& analysis, TableBuilder& rows) {
  for (const model::CriticalPathRow& p : analysis.critical_path) {
    const int64_t values[] = {
        p.step,     p.device_id, p.activity_id > 0 ? p.activity_id : kNullNumber,
        p.start_ns, p.end_ns,    static_cast<int64_t>(p.kind)};
    rows.Append(rows.rows() + 1, values);
  }
}

tl::unexpected<Error> NoHlo(Id module_id) {
  return MakeError(fmt::format("the run has no HLO of module {}", module_id),
                   "run the program once more with XLA_FLAGS=--xla_dump_to=DIR, then: xlatrace "
                   "attach run.db --modules DIR");
}

Result<RunDb::ModuleBytes> ReadModuleRow(Database& database, Id module_id) {
  XLATRACE_ASSIGN(
      Statement row,
      database.Prepare("SELECT format, hlo, thunk_sequence, thunk_metadata "
                       "FROM x_module WHERE module_id = coalesce((SELECT hlo_module_id FROM "
                       "x_module WHERE module_id = ?1), ?1)"));
  row.BindInt64(0, module_id);
  XLATRACE_ASSIGN(const bool found, row.Step());
  if (!found) return MakeError(fmt::format("there is no module {}", module_id));
  if (row.IsNull(1)) return NoHlo(module_id);
  RunDb::ModuleBytes module;
  module.format = static_cast<model::ModuleBlob::Format>(row.Int64(0));
  std::string* const targets[] = {&module.bytes, &module.thunk_sequence, &module.thunk_metadata};
  for (int i = 0; i < 3; ++i) {
    if (row.IsNull(i + 1)) continue;
    auto bytes = ZstdDecompress(row.Text(i + 1));
    if (!bytes) return Wrap(fmt::format("module {}", module_id), std::move(bytes).error());
    *targets[i] = std::move(*bytes);
  }
  return module;
}

}  // namespace xlatrace::store
