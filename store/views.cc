// SPDX-License-Identifier: Apache-2.0

// The public views: the contract of docs/schema.md, in SQL over the private tables.

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "model/compile.h"
#include "model/replay_rows.h"
#include "model/time_tree.h"
#include "model/words.h"
#include "store/host_sample_rows.h"
#include "store/packed_row.h"
#include "store/schema.h"

namespace xlatrace::store {
namespace {

using namespace model;  // NOLINT: all vocabularies.

// CASE that maps a stored integer to its text; NULL stays NULL.
template <typename Enum>
std::string Word(std::string_view expression) {
  std::string sql = fmt::format("CASE {}", expression);
  size_t value = 0;
  for (const std::string_view text : Texts<Enum>()) {
    sql += fmt::format(" WHEN {} THEN '{}'", value++, text);
  }
  return sql + " END";
}

// Function, file and line of a range that is a call of a Python function, in the two forms of
// profilers: "$train.py:12 step" and "train.py(12): step".
constexpr std::string_view kPythonCallColumns = R"sql(CASE
    WHEN t.text LIKE '$%.py:%' THEN substr(t.text, instr(t.text, ' ') + 1)
    WHEN t.text LIKE '%.py(%): %' THEN substr(t.text, instr(t.text, '): ') + 3) END AS function,
  CASE WHEN t.text LIKE '$%.py:%' THEN substr(t.text, 2, instr(t.text, '.py:') + 1)
    WHEN t.text LIKE '%.py(%): %' THEN substr(t.text, 1, instr(t.text, '.py(') + 2) END AS file,
  CASE WHEN t.text LIKE '$%.py:%' THEN CAST(substr(t.text, instr(t.text, '.py:') + 4) AS INT)
    WHEN t.text LIKE '%.py(%): %' THEN CAST(substr(t.text, instr(t.text, '.py(') + 4) AS INT) END
    AS line)sql";

// Joins from the stack of `row` to its user's line (sp) and its innermost line (lp). SQLite leaves
// a join out of a query that reads none of its columns.
std::string SourceJoins(std::string_view row) {
  return fmt::format(
      "LEFT JOIN x_source_stack ss ON ss.stack_id = {}.stack_id\n"
      "  LEFT JOIN x_source_place sp ON sp.place_id = ss.user_place\n"
      "  LEFT JOIN x_source_place lp ON lp.place_id = ss.library_place",
      row);
}

// Kind of the finest rows in the run's source: the rows of view `launch`.
constexpr std::string_view kLaunchKind =
    "(SELECT CASE value WHEN 'kernel' THEN 0 WHEN 'op' THEN 4 ELSE 5 END FROM x_run_info"
    " WHERE key = 'granularity')";

// The packed rows (packed_row.h) as plain tables. Private; the public views use them.
std::string PackedViews() {
  return fmt::format(
      R"sql(
CREATE VIEW x_activity AS SELECT r.rowid AS activity_id, k.lane_id, k.config_id,
  {start} AS start_ns, r.duration_ns, {self} AS self_ns, k.hint_id, {call_id} AS api_call_id,
  r.correlation_id, k.bytes, k.graph_id, k.graph_node_id, k.label_id, s.execution_id, s.step
  FROM {packed} r JOIN x_kind k USING (kind_id) JOIN x_slot s USING (slot_id);
CREATE VIEW x_api_call AS SELECT r.rowid AS api_call_id, n.process_id, n.thread_id, n.name_id,
  r.correlation_id, {call_start} AS start_ns, r.call_duration_ns AS duration_ns,
  n.event_class, n.return_value
  FROM {packed} r JOIN x_call_kind n USING (call_kind)
  UNION ALL
  SELECT c.api_call_id, n.process_id, n.thread_id, n.name_id, c.correlation_id, c.start_ns,
  c.duration_ns, n.event_class, n.return_value FROM x_other_call c JOIN x_call_kind n USING (call_kind);
CREATE VIEW x_gap AS SELECT l.device_id, p.start_ns + p.duration_ns AS start_ns,
  r.start_ns AS end_ns, {gap_cause} AS cause, p.rowid AS previous_activity_id,
  r.rowid AS next_activity_id, CAST(NULL AS INT) AS host_range_id
  FROM {packed} r JOIN {packed} p ON p.rowid = {gap_previous}
  JOIN x_kind k ON k.kind_id = r.kind_id JOIN x_lane l USING (lane_id) WHERE r.gap IS NOT NULL
  UNION ALL SELECT device_id, start_ns, end_ns, cause, previous_activity_id, next_activity_id,
  host_range_id FROM x_other_gap;
CREATE VIEW x_range AS SELECT r.rowid AS range_id, k.process_id, k.thread_id, k.domain_id,
  k.text_id, r.start_ns, r.duration_ns, r.depth, k.domain_number
  FROM x_packed_range r JOIN x_range_kind k USING (range_kind);
)sql",
      fmt::arg("packed", kPackedActivity), fmt::arg("start", kPackedStartSql),
      fmt::arg("self", kPackedSelfSql), fmt::arg("call_id", kPackedCallIdSql),
      fmt::arg("call_start", kPackedCallStartSql), fmt::arg("gap_cause", PackedGapCauseSql()),
      fmt::arg("gap_previous", PackedGapPreviousSql()));
}

std::string RunViews() {
  return fmt::format(
      R"sql(
CREATE VIEW run_info AS SELECT key, value FROM x_run_info;
CREATE VIEW process AS SELECT p.process_id, p.host, p.pid, p.rank, p.local_rank, p.command,
  p.clock_offset_ns, p.clock_error_ns, {ended} AS ended, e.unrecorded_tail_ns, p.name,
  p.recorded_from_ns, e.signal AS ended_signal, e.unrecorded_from_ns,
  (SELECT sum(at_least) FROM x_loss l WHERE l.process_id = p.process_id) AS lost_at_least
  FROM x_process p LEFT JOIN x_ending e USING (process_id);
CREATE VIEW window AS SELECT process_id, start_ns, end_ns, {why_ended} AS why_ended FROM x_window;
CREATE VIEW loss AS SELECT process_id, start_ns, end_ns, at_least, cause FROM x_loss;
CREATE VIEW thread AS SELECT process_id, thread_id, name FROM x_thread;
CREATE VIEW device AS SELECT d.device_id, d.process_id, p.host, d.ordinal, d.uuid, d.name,
  {device_kind} AS kind, coalesce(d.compute_capability, f.compute_capability) AS compute_capability,
  coalesce(d.sm_count, f.sm_count) AS sm_count, coalesce(d.clock_hz, f.clock_hz) AS clock_hz,
  coalesce(f.memory_bandwidth_bytes_per_s, d.memory_bandwidth_bytes_per_s)
    AS memory_bandwidth_bytes_per_s,
  coalesce(d.memory_bytes, f.memory_bytes) AS memory_bytes,
  coalesce(d.max_threads_per_sm, f.max_threads_per_sm) AS max_threads_per_sm,
  coalesce(d.max_blocks_per_sm, f.max_blocks_per_sm) AS max_blocks_per_sm,
  coalesce(d.registers_per_sm, f.registers_per_sm) AS registers_per_sm,
  coalesce(d.shared_memory_per_sm_bytes, f.shared_memory_per_sm_bytes)
    AS shared_memory_per_sm_bytes,
  coalesce(d.shared_memory_per_block_optin_bytes, f.shared_memory_per_block_optin_bytes)
    AS shared_memory_per_block_optin_bytes,
  coalesce(d.warp_size, f.warp_size) AS warp_size,
  coalesce(d.shared_memory_per_block_bytes, f.shared_memory_per_block_bytes)
    AS shared_memory_per_block_bytes,
  coalesce(d.shared_memory_reserved_per_block_bytes, f.shared_memory_reserved_per_block_bytes)
    AS shared_memory_reserved_per_block_bytes,
  coalesce(d.max_threads_per_block, f.max_threads_per_block) AS max_threads_per_block,
  coalesce(d.registers_per_block, f.registers_per_block) AS registers_per_block,
  coalesce(d.l2_bytes, f.l2_bytes) AS l2_bytes, f.peak_flops, f.gpu, f.peaks_source,
  f.host_link_bytes_per_s, f.peer_link_bytes_per_s
  FROM x_device d JOIN x_process p USING (process_id) LEFT JOIN x_device_facts f USING (device_id);
CREATE VIEW stream AS SELECT device_id, stream_id, min(name) AS name, min(priority) AS priority
  FROM x_lane GROUP BY device_id, stream_id;
CREATE VIEW api_call AS SELECT c.api_call_id, c.process_id, c.thread_id, s.text AS name,
  c.correlation_id, c.start_ns, c.start_ns + c.duration_ns AS end_ns
  FROM x_api_call c JOIN x_string s ON s.string_id = c.name_id;
CREATE VIEW range AS SELECT r.range_id, r.process_id, r.thread_id, d.text AS domain, t.text,
  r.start_ns, r.start_ns + r.duration_ns AS end_ns, r.depth, {python_call}
  FROM x_range r JOIN x_string t ON t.string_id = r.text_id
  LEFT JOIN x_string d ON d.string_id = r.domain_id
  WHERE d.text IS NOT 'torch.python_function';
CREATE VIEW python_call AS SELECT r.range_id, r.process_id, r.thread_id, t.text,
  r.start_ns, r.start_ns + r.duration_ns AS end_ns, r.depth, {python_call}
  FROM x_range r JOIN x_string t ON t.string_id = r.text_id
  JOIN x_string d ON d.string_id = r.domain_id WHERE d.text = 'torch.python_function';
CREATE VIEW compile AS SELECT c.process_id, c.module_id, c.name, {compile_stage} AS stage,
  c.compilation, c.source_file, c.source_line, c.function_file, c.function_line, c.is_library,
  c.is_operation, c.is_again, (SELECT d.kind FROM x_compile_detail d WHERE d.process_id = c.process_id
    AND d.compilation = c.compilation AND d.is_difference = 1 AND c.is_again = 1
    ORDER BY d.rowid LIMIT 1) AS cause,
  c.is_unfinished, c.start_ns, c.end_ns FROM x_compile c;
CREATE VIEW compile_detail AS SELECT process_id, compilation, kind, name, before, after, value,
  source_file, source_line, is_difference FROM x_compile_detail;
CREATE VIEW run_stat AS SELECT name, {severity} AS severity, source, value, advice FROM x_run_stat;
)sql",
      fmt::arg("python_call", kPythonCallColumns),
      fmt::arg("compile_stage", Word<CompileStage>("c.stage")),
      fmt::arg("device_kind", Word<DeviceKind>("d.kind")),
      fmt::arg("ended", Word<ProcessEnd>("nullif(e.ended, 0)")),
      fmt::arg("why_ended", Word<WindowEnd>("why_ended")),
      fmt::arg("severity", Word<Severity>("severity")));
}

std::string ModuleViews() {
  return fmt::format(
      R"sql(
CREATE VIEW module AS SELECT m.module_id, m.process_id,
  coalesce(m.told_program_id, m.program_id) AS program_id, m.name, f.fingerprint,
  {role} AS role, f.role_reason, f.framework_function, f.instruction_count, f.flops, f.bytes,
  f.peak_memory_bytes, {source} AS source, m.file, 'm' || coalesce(f.rank, m.module_id) AS handle
  FROM x_module m LEFT JOIN x_module_facts f USING (module_id);
CREATE VIEW instruction AS SELECT module_id, name AS instruction, computation, opcode, category,
  {op_kind} AS op_kind, shape, operands, op_name, {method} AS op_name_method, op_type,
  sp.file AS source_file, sp.line AS source_line, {phase} AS phase, layer, layer_group, mixed, flops, bytes, fusion_kind,
  lp.file AS library_file, lp.line AS library_line, ss.is_library AS source_is_library, i.stack_id
  FROM x_instruction i {joins} WHERE module_id IS NOT NULL;
CREATE VIEW instruction_share AS SELECT i.module_id, i.name AS instruction,
  CASE WHEN s.share_ppm IS NULL THEN i.op_name ELSE s.op_name END AS op_name,
  CASE WHEN s.share_ppm IS NULL THEN {phase_i} ELSE {share_phase} END AS phase,
  CASE WHEN s.share_ppm IS NULL THEN i.layer ELSE s.layer END AS layer,
  sp.file AS source_file, sp.line AS source_line,
  coalesce(s.share_ppm, 1000000) / 1000000.0 AS share, coalesce(s.share_ppm, 1000000) AS share_ppm,
  CASE WHEN s.share_ppm IS NULL THEN i.layer_group ELSE s.layer_group END AS layer_group,
  lp.file AS library_file, lp.line AS library_line, ss.is_library AS source_is_library, ss.stack_id
  FROM x_instruction i LEFT JOIN x_instruction_share s USING (instruction_id)
  LEFT JOIN x_source_stack ss ON ss.stack_id =
    CASE WHEN s.share_ppm IS NULL THEN i.stack_id ELSE s.stack_id END
  LEFT JOIN x_source_place sp ON sp.place_id = ss.user_place
  LEFT JOIN x_source_place lp ON lp.place_id = ss.library_place
  WHERE i.module_id IS NOT NULL;
CREATE VIEW source_stack AS SELECT f.stack_id, f.depth, p.file, p.line, p.function, p.is_user,
  f.place_id = s.user_place AS is_source FROM x_source_frame f JOIN x_source_place p
  USING (place_id) JOIN x_source_stack s USING (stack_id);
CREATE VIEW source_frame AS SELECT i.module_id, i.name AS instruction, f.depth, p.file, p.line,
  p.function, p.is_user FROM x_instruction i JOIN x_source_frame f USING (stack_id)
  JOIN x_source_place p USING (place_id) WHERE i.module_id IS NOT NULL;
CREATE VIEW execution AS SELECT execution_id, module_id, device_id, start_ns, end_ns, activities,
  complete FROM x_execution;
)sql",
      fmt::arg("role", Word<ModuleRole>("f.role")), fmt::arg("joins", SourceJoins("i")),
      fmt::arg("source", Word<ModuleSource>("m.source")),
      fmt::arg("op_kind", Word<OpKind>("op_kind")),
      fmt::arg("method", Word<OpNameMethod>("nullif(op_name_method, 0)")),
      fmt::arg("phase", Word<Phase>("phase")), fmt::arg("share_phase", Word<Phase>("s.phase")),
      fmt::arg("phase_i", Word<Phase>("i.phase")));
}

// Columns that `activity` and `launch` share, and their joins.
std::string ActivityColumnsSql() {
  return fmt::format(
      R"sql({kind} AS kind, d.process_id, l.device_id, l.stream_id, l.context_id,
  a.correlation_id, a.api_call_id, a.graph_id, a.graph_node_id, a.start_ns,
  a.start_ns + a.duration_ns AS end_ns, a.duration_ns, a.self_ns, a.bytes, {copy_kind} AS copy_kind, n.text AS name, {origin} AS origin, b.module_id,
  m.name AS module, coalesce(m.told_program_id, m.program_id) AS program_id, a.execution_id, a.step,
  CASE WHEN i.module_id IS NOT NULL THEN i.name END AS instruction, i.op_name,
  i.op_type, sp.file AS source_file, sp.line AS source_line, i.category,
  CASE WHEN i.instruction_id IS NOT NULL THEN {op_kind}
       WHEN c.kind = 1 THEN 'copy' WHEN c.kind = 2 THEN 'memset' ELSE 'other' END AS op_kind,
  coalesce({phase}, CASE b.reason WHEN {autotuning} THEN 'other' ELSE 'unknown' END) AS phase,
  i.layer, i.layer_group, coalesce(i.mixed, 0) | (c.kind = 3 AND i.instruction_id IS NOT NULL) AS mixed,
  {evidence} AS evidence, coalesce({confidence}, 'none') AS confidence,
  CASE WHEN b.instruction_id IS NULL THEN coalesce({reason}, 'unknown') END AS unattributed_reason,
  lp.file AS library_file, lp.line AS library_line, ss.is_library AS source_is_library)sql",
      fmt::arg("kind", Word<ActivityKind>("c.kind")),
      fmt::arg("autotuning", static_cast<int>(Reason::kAutotuning)),
      fmt::arg("copy_kind", Word<CopyKind>("CASE WHEN c.kind = 1 THEN c.copy_kind END")),
      fmt::arg("origin", Word<Origin>("coalesce(b.origin, 0)")),
      fmt::arg("op_kind", Word<OpKind>("i.op_kind")), fmt::arg("phase", Word<Phase>("i.phase")),
      fmt::arg("evidence", Word<Evidence>("nullif(b.evidence, 0)")),
      fmt::arg("confidence", Word<Confidence>("b.confidence")),
      fmt::arg("reason", Word<Reason>("b.reason")));
}

constexpr std::string_view kActivityJoins = R"sql(
  FROM x_activity a JOIN x_config c USING (config_id) JOIN x_lane l USING (lane_id)
  JOIN x_device d USING (device_id) LEFT JOIN x_string n ON n.string_id = c.name_id
  LEFT JOIN x_label b ON b.label_id = a.label_id
  LEFT JOIN x_instruction i ON i.instruction_id = b.instruction_id
  LEFT JOIN x_module m ON m.module_id = b.module_id
  LEFT JOIN x_source_stack ss ON ss.stack_id = i.stack_id
  LEFT JOIN x_source_place sp ON sp.place_id = ss.user_place
  LEFT JOIN x_source_place lp ON lp.place_id = ss.library_place)sql";

std::string ActivityViews() {
  std::string sql = fmt::format("\nCREATE VIEW activity AS SELECT a.activity_id, {}{};\n",
                                ActivityColumnsSql(), kActivityJoins);
  sql += fmt::format(
      "CREATE VIEW launch AS SELECT a.activity_id AS launch_id, {},\n"
      "  n.text AS kernel_name, k.text AS kernel_symbol, c.grid_x, c.grid_y, c.grid_z, c.block_x,\n"
      "  c.block_y, c.block_z, c.cluster_x, c.cluster_y, c.cluster_z, c.registers_per_thread,\n"
      "  c.shared_memory_static_bytes, c.shared_memory_dynamic_bytes,\n"
      "  c.local_memory_per_thread_bytes,\n"
      "  coalesce(y.theoretical_milli_pct, c.theoretical_occupancy_milli_pct) / 1000.0\n"
      "    AS theoretical_occupancy_pct,\n"
      "  y.limiter AS occupancy_limiter, y.waves_milli / 1000.0 AS waves, y.blocks_per_sm{}\n"
      "  LEFT JOIN x_string k ON k.string_id = c.symbol_id\n"
      "  LEFT JOIN x_occupancy y ON y.config_id = a.config_id AND y.device_id = l.device_id\n"
      "  WHERE c.kind = {};\n",
      ActivityColumnsSql(), kActivityJoins, kLaunchKind);
  sql += fmt::format(
      R"sql(
CREATE VIEW kernel AS SELECT 'k' || row_number() OVER (ORDER BY t.self_ns DESC, k.text) AS handle,
  n.text AS kernel_name, k.text AS kernel_symbol, t.launches, t.self_ns, t.total_ns
  FROM (SELECT c.symbol_id, min(c.name_id) AS name_id, count(*) AS launches,
    sum(a.self_ns) AS self_ns, sum(a.duration_ns) AS total_ns
    FROM x_activity a JOIN x_config c USING (config_id) WHERE c.kind = {} GROUP BY c.symbol_id) t
  LEFT JOIN x_string n ON n.string_id = t.name_id
  LEFT JOIN x_string k ON k.string_id = t.symbol_id;
CREATE VIEW copy AS SELECT a.activity_id, l.device_id, {} AS copy_kind, a.start_ns, a.duration_ns,
  a.bytes, CASE WHEN a.duration_ns > 0 THEN CAST(1e9 * a.bytes / a.duration_ns AS INT) END
    AS bandwidth_bytes_per_s,
  CASE c.copy_kind WHEN {} THEN f.host_link_bytes_per_s WHEN {} THEN f.host_link_bytes_per_s
    WHEN {} THEN f.memory_bandwidth_bytes_per_s / 2 WHEN {} THEN f.peer_link_bytes_per_s END
    AS link_bytes_per_s
  FROM x_activity a JOIN x_config c USING (config_id) JOIN x_lane l USING (lane_id)
  LEFT JOIN x_device_facts f USING (device_id)
  WHERE c.kind = 1;
)sql",
      kLaunchKind, Word<CopyKind>("c.copy_kind"), static_cast<int>(CopyKind::kHostToDevice),
      static_cast<int>(CopyKind::kDeviceToHost), static_cast<int>(CopyKind::kDeviceToDevice),
      static_cast<int>(CopyKind::kPeerToPeer));
  // The order of the joins is fixed: there are few ops, and only their activities are looked up.
  sql += fmt::format(
      R"sql(
CREATE VIEW op_launch AS SELECT 'o' || o.op_id AS handle, a.activity_id, l.device_id, a.step,
  a.start_ns, a.duration_ns, a.self_ns, a.bytes,
  {kind} AS kind, n.text AS kernel_name, k.text AS kernel_symbol, c.config_id, c.grid_x, c.grid_y,
  c.grid_z, c.block_x, c.block_y, c.block_z, c.cluster_x, c.cluster_y, c.cluster_z,
  c.registers_per_thread, c.shared_memory_static_bytes, c.shared_memory_dynamic_bytes,
  c.local_memory_per_thread_bytes,
  coalesce(y.theoretical_milli_pct, c.theoretical_occupancy_milli_pct) / 1000.0
    AS theoretical_occupancy_pct, y.limiter AS occupancy_limiter,
  y.waves_milli / 1000.0 AS waves, y.blocks_per_sm, {evidence} AS evidence,
  {confidence} AS confidence, b.losers AS losing_evidence
  FROM x_activity a CROSS JOIN x_label b ON b.label_id = a.label_id
  CROSS JOIN x_op_time o ON o.instruction_id = b.instruction_id
  CROSS JOIN x_config c ON c.config_id = a.config_id
  CROSS JOIN x_lane l ON l.lane_id = a.lane_id
  LEFT JOIN x_string n ON n.string_id = c.name_id LEFT JOIN x_string k ON k.string_id = c.symbol_id
  LEFT JOIN x_occupancy y ON y.config_id = a.config_id AND y.device_id = l.device_id;
)sql",
      fmt::arg("kind", Word<ActivityKind>("c.kind")),
      fmt::arg("evidence", Word<Evidence>("nullif(b.evidence, 0)")),
      fmt::arg("confidence", Word<Confidence>("b.confidence")));
  sql += R"sql(
CREATE VIEW activity_share AS SELECT a.activity_id, i.module_id, i.name AS instruction,
  s.share_ppm / 1000000.0 AS share
  FROM x_activity a JOIN x_label_share s USING (label_id)
  JOIN x_instruction i USING (instruction_id);
)sql";
  return sql;
}

// In op_time, instructions of modules and ops outside of modules (`f`) are joined separately. An
// index on (module_id, instruction) is used only if `instruction` is a plain column.
std::string AnalysisViews() {
  return fmt::format(
      R"sql(
CREATE VIEW step AS SELECT step, process_id, device_id, start_ns, end_ns, device_ns, busy_ns,
  steady, {how} AS how, CASE WHEN has_duration THEN end_ns - start_ns END AS duration_ns,
  first_execution, typical FROM x_step;
CREATE VIEW op_time AS SELECT o.module_id, m.name AS module, coalesce(m.told_program_id, m.program_id) AS program_id,
  i.name AS instruction, coalesce(i.category, f.category) AS category, {op_kind} AS op_kind,
  coalesce({phase}, 'unknown') AS phase, coalesce(i.layer, f.layer) AS layer,
  coalesce(i.layer_group, f.layer_group) AS layer_group, coalesce(i.op_name, f.op_name) AS op_name,
  sp.file AS source_file, sp.line AS source_line, o.occurrences, o.total_ns, o.self_ns, o.steady_ns,
  o.total_ns / o.occurrences AS average_ns, o.min_ns, o.max_ns,
  100.0 * o.self_ns / (SELECT nullif(sum(self_ns), 0) FROM x_op_time) AS self_pct, o.flops,
  o.bytes, o.wasted_ns, o.bound_by,
  o.theoretical_occupancy_milli_pct / 1000.0 AS theoretical_occupancy_pct, o.occupancy_limiter,
  o.expected_ns, o.compute_utilisation_milli_pct / 1000.0 AS compute_utilisation_pct,
  o.memory_utilisation_milli_pct / 1000.0 AS memory_utilisation_pct, o.compute_type,
  {confidence} AS confidence, o.estimated, coalesce(i.mixed, f.mixed, 0) AS mixed,
  CASE WHEN o.instruction_id IS NOT NULL THEN 'o' || o.op_id END AS handle,
  o.critical_milli_pct / 1000.0 AS critical_pct, o.slack_ns,
  coalesce(i.op_type, f.op_type) AS op_type, coalesce(i.name, f.name) AS op,
  lp.file AS library_file, lp.line AS library_line, ss.is_library AS source_is_library, ss.stack_id
  FROM x_op_time o LEFT JOIN x_instruction i ON i.instruction_id = o.instruction_id
    AND i.module_id = o.module_id
  LEFT JOIN x_instruction f ON f.instruction_id = o.instruction_id AND o.module_id IS NULL
  LEFT JOIN x_module m ON m.module_id = o.module_id
  LEFT JOIN x_source_stack ss ON ss.stack_id = coalesce(i.stack_id, f.stack_id)
  LEFT JOIN x_source_place sp ON sp.place_id = ss.user_place
  LEFT JOIN x_source_place lp ON lp.place_id = ss.library_place;
CREATE VIEW scope_time AS SELECT op_name, layer, layer_group, {phase_plain} AS phase,
  sp.file AS source_file, sp.line AS source_line, sum(t.self_ns) AS self_ns,
  sum(t.estimated_ns) AS estimated_ns, lp.file AS library_file, lp.line AS library_line,
  ss.is_library AS source_is_library
  FROM x_scope_time t {scope_joins}
  GROUP BY op_name, layer, layer_group, t.phase, ss.user_place, ss.library_place
  ORDER BY sum(t.self_ns) DESC;
CREATE VIEW stack_time AS SELECT stack_id, sum(self_ns) AS self_ns,
  sum(estimated_ns) AS estimated_ns FROM x_scope_time GROUP BY stack_id;
CREATE VIEW source_time AS SELECT file, line, min(function) AS function, max(is_user) AS is_user,
  sum(self_ns) AS self_ns, sum(inclusive_ns) AS inclusive_ns
  FROM (SELECT p.file, p.line, min(p.function) AS function, max(p.is_user) AS is_user,
      CASE WHEN max(f.place_id = s.user_place) THEN t.ns ELSE 0 END AS self_ns,
      t.ns AS inclusive_ns
    FROM (SELECT stack_id, self_ns AS ns FROM stack_time) t
    JOIN x_source_stack s USING (stack_id) JOIN x_source_frame f USING (stack_id)
    JOIN x_source_place p USING (place_id) GROUP BY t.stack_id, p.file, p.line)
  GROUP BY file, line ORDER BY sum(self_ns) DESC, sum(inclusive_ns) DESC;
CREATE VIEW phase_time AS SELECT device_id, step, {phase_plain} AS phase, self_ns, estimated_ns
  FROM x_phase_time;
CREATE VIEW step_part AS SELECT device_id, step, {part} AS part, wall_ns FROM x_step_part;
CREATE VIEW busy_time AS SELECT device_id, start_ns, end_ns, busy_ns, idle_ns, overlap_ns,
  compute_ns, collective_ns, exposed_collective_ns, copy_ns, exposed_copy_ns, steady_busy_ns
  FROM x_busy_time;
CREATE VIEW launch_queue AS SELECT device_id, steady, calls, calls_on_idle, call_p50_ns,
  latency_p50_ns, latency_p90_ns, queued_p50_ns, queued_p90_ns, outstanding_p50, outstanding_p90,
  outstanding_max FROM x_launch_queue;
CREATE VIEW late_rank AS SELECT process_id, device_id, ranks,
  CASE WHEN by_host THEN 'host' ELSE 'kernels' END AS work, cost_ns, excess_ns, step_ns
  FROM x_late_rank;
CREATE VIEW gap AS SELECT device_id, start_ns, end_ns, {cause} AS cause, previous_activity_id,
  next_activity_id, host_range_id, evidence FROM x_gap LEFT JOIN x_gap_evidence USING
  (next_activity_id);
CREATE VIEW collective AS SELECT activity_id, op, bytes, group_size, group_id, algorithm_bandwidth,
  bus_bandwidth, exposed_ns, wait_ns, arrival_skew_ns FROM x_collective;
CREATE VIEW critical_path AS SELECT step, device_id, activity_id, start_ns, end_ns,
  {path_kind} AS kind FROM x_critical_path;
CREATE VIEW replay AS SELECT steps, step_ns, error_milli_pct / 1000.0 AS error_pct,
  largest_error_milli_pct / 1000.0 AS largest_error_pct, withheld, all_findings_step_ns,
  assumptions FROM x_replay;
CREATE VIEW finding AS SELECT rank, id, 'f' || rank AS handle, title, sentence, headline, reason, saves_low_ns_per_step,
  saves_high_ns_per_step, saves_low_ns_per_run, saves_high_ns_per_run, basis,
  replay_error_milli_pct / 1000.0 AS replay_error_pct, confidence, where_op, where_layer, where_source, evidence, action,
  how_to_check FROM x_finding;
CREATE VIEW rank AS SELECT rank_id, rank, ordinal, host, source, source_process_id,
  source_device_id, process_id, device_id, program, clock_offset_ns, clock_drift_ppb,
  clock_error_ns, clock_set, activities, device_ns, excess_ns_per_step FROM x_rank;
CREATE VIEW rank_step AS SELECT rank_id, step, start_ns, step_ns, wait_ns, transfer_ns, gemm_ns,
  other_ns, idle_ns, steady FROM x_rank_step;
CREATE VIEW job_collective AS SELECT program, instruction, op, group_size, bytes, ranks, group_count,
  paired, transfer_ns, arrival_skew_ns, most_skew_ns, bus_bandwidth, exposed_ns_per_step,
  wait_ns_per_step, last_rank_id, last_times FROM x_job_collective ORDER BY position;
CREATE VIEW job_critical_path AS SELECT step, rank_id, from_program, from_instruction, to_program,
  to_instruction, own_ns, exchange_ns, lead_ns, collectives FROM x_job_path ORDER BY position;
CREATE VIEW time_tree AS SELECT t.node_id, t.parent_id, t.process_id, t.device_id,
  {tree_kind} AS kind, t.name, CASE t.kind WHEN {op} THEN coalesce({tree_phase}, 'unknown') END AS phase,
  i.layer_group, CASE t.kind WHEN {op} THEN coalesce({tree_op_kind}, 'other') END AS op_kind,
  i.module_id, CASE WHEN i.module_id IS NOT NULL THEN i.name END AS instruction,
  coalesce(sp.file, t.source_file) AS source_file,
  coalesce(sp.line, t.source_line) AS source_line, t.ns, t.per_step_ns, t.p25_ns, t.p75_ns,
  'o' || o.op_id AS handle
  FROM x_time_tree t LEFT JOIN x_instruction i USING (instruction_id)
  LEFT JOIN x_op_time o ON o.instruction_id = t.instruction_id
  LEFT JOIN x_source_stack ss ON ss.stack_id = i.stack_id
  LEFT JOIN x_source_place sp ON sp.place_id = ss.user_place;
CREATE VIEW buffer AS SELECT b.buffer_id, b.module_id, b.allocation, b.offset_bytes, b.bytes,
  b.peak_bytes, b.memory_space, b.owner, b.instruction, b.shape_index, b.shape,
  CASE WHEN i.instruction_id IS NOT NULL THEN {buffer_phase} END AS phase, i.layer, i.layer_group,
  sp.file AS source_file, sp.line AS source_line, b.first_position, b.last_position,
  fi.name AS first_use, li.name AS last_use
  FROM x_buffer b LEFT JOIN x_instruction i ON i.instruction_id = b.described_by
  LEFT JOIN x_source_stack ss ON ss.stack_id = i.stack_id
  LEFT JOIN x_source_place sp ON sp.place_id = ss.user_place
  LEFT JOIN x_memory_position f ON f.module_id = b.module_id AND f.position = b.first_position
  LEFT JOIN x_instruction fi ON fi.instruction_id = f.instruction_id
  LEFT JOIN x_memory_position l ON l.module_id = b.module_id AND l.position = b.last_position
  LEFT JOIN x_instruction li ON li.instruction_id = l.instruction_id;
CREATE VIEW memory_over_time AS SELECT m.module_id, m.position, i.name AS instruction, m.bytes,
  m.start_ns, m.end_ns FROM x_memory_position m LEFT JOIN x_instruction i USING (instruction_id);
CREATE VIEW ruled_out AS SELECT id, CASE withheld WHEN 0 THEN 'fine' ELSE 'withheld' END AS verdict,
  text, what, figure, evidence FROM x_ruled_out ORDER BY position;
)sql",
      fmt::arg("how", Word<StepHow>("how")), fmt::arg("scope_joins", SourceJoins("t")),
      fmt::arg("op_kind", Word<OpKind>("coalesce(i.op_kind, f.op_kind)")),
      fmt::arg("phase", Word<Phase>("coalesce(i.phase, f.phase)")),
      fmt::arg("confidence", Word<Confidence>("o.confidence")),
      fmt::arg("phase_plain", Word<Phase>("phase")), fmt::arg("part", Word<StepPart>("part")),
      fmt::arg("tree_kind", Word<TreeKind>("t.kind")),
      fmt::arg("op", static_cast<int>(TreeKind::kOp)),
      fmt::arg("tree_phase", Word<Phase>("i.phase")),
      fmt::arg("buffer_phase", Word<Phase>("i.phase")),
      fmt::arg("tree_op_kind", Word<OpKind>("i.op_kind")),
      fmt::arg("cause", Word<GapCause>("cause")), fmt::arg("path_kind", Word<PathKind>("kind")));
}

// Names and columns of Nsight Systems' SQLite export (schema 3.24), so that SQL for such exports
// runs here. Values that no source has are NULL.
// copyKind and memKind are CUPTI's numbers.
std::string NsightViews() {
  return R"sql(
CREATE VIEW StringIds AS SELECT string_id AS id, text AS value FROM x_string;
CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT a.start_ns AS start,
  a.start_ns + a.duration_ns AS "end", d.ordinal AS deviceId, l.context_id AS contextId,
  CAST(NULL AS INT) AS greenContextId, l.stream_id AS streamId, a.correlation_id AS correlationId,
  coalesce(p.source_id, p.pid << 24) AS globalPid,
  coalesce(c.demangled_id, c.symbol_id) AS demangledName, c.name_id AS shortName,
  c.symbol_id AS mangledName, c.launch_type AS launchType, c.cache_config AS cacheConfig,
  c.registers_per_thread AS registersPerThread, c.grid_x AS gridX, c.grid_y AS gridY,
  c.grid_z AS gridZ, c.block_x AS blockX, c.block_y AS blockY, c.block_z AS blockZ,
  c.shared_memory_static_bytes AS staticSharedMemory,
  c.shared_memory_dynamic_bytes AS dynamicSharedMemory, a.graph_node_id AS graphNodeId,
  a.graph_id AS graphId, c.cluster_x AS clusterX, c.cluster_y AS clusterY, c.cluster_z AS clusterZ,
  c.local_memory_per_thread_bytes AS localMemoryPerThread,
  c.local_memory_total_bytes AS localMemoryTotal, CAST(NULL AS INT) AS gridId,
  c.shared_memory_executed_bytes AS sharedMemoryExecuted,
  CAST(NULL AS INT) AS sharedMemoryLimitConfig, CAST(NULL AS INT) AS qmdBulkReleaseDone,
  CAST(NULL AS INT) AS qmdPreexitDone, CAST(NULL AS INT) AS qmdLastCtaDone,
  CAST(NULL AS INT) AS clusterSchedulingPolicy, CAST(NULL AS INT) AS maxPotentialClusterSize,
  CAST(NULL AS INT) AS maxActiveClusters, CAST(NULL AS INT) AS sharedMemoryRequestedPercentage,
  CAST(NULL AS INT) AS tensorSizeMinusOneElements
  FROM x_activity a JOIN x_config c USING (config_id) JOIN x_lane l USING (lane_id)
  JOIN x_device d USING (device_id) JOIN x_process p USING (process_id) WHERE c.kind = 0;
CREATE VIEW CUPTI_ACTIVITY_KIND_MEMCPY AS SELECT a.start_ns AS start,
  a.start_ns + a.duration_ns AS "end", d.ordinal AS deviceId, l.context_id AS contextId,
  CAST(NULL AS INT) AS greenContextId, l.stream_id AS streamId, a.correlation_id AS correlationId,
  coalesce(p.source_id, p.pid << 24) AS globalPid, a.bytes,
  CASE c.copy_kind WHEN 1 THEN 1 WHEN 2 THEN 2 WHEN 3 THEN 8 WHEN 4 THEN 10 WHEN 5 THEN 9 ELSE
    coalesce((SELECT CASE text WHEN 'MigrationH2D' THEN 11 WHEN 'MigrationD2H' THEN 12
    WHEN 'MigrationD2D' THEN 13 END FROM x_string WHERE string_id = c.symbol_id), 0) END
    AS copyKind, a.graph_node_id AS graphNodeId,
  CAST(NULL AS INT) AS deprecatedSrcId, c.source_memory_kind AS srcKind,
  c.memory_kind AS dstKind, CAST(NULL AS INT) AS srcDeviceId,
  CAST(NULL AS INT) AS srcContextId, CAST(NULL AS INT) AS dstDeviceId,
  CAST(NULL AS INT) AS dstContextId, CAST(NULL AS INT) AS migrationCause,
  CAST(NULL AS INT) AS virtualAddress, CAST(NULL AS INT) AS copyCount
  FROM x_activity a JOIN x_config c USING (config_id) JOIN x_lane l USING (lane_id)
  JOIN x_device d USING (device_id) JOIN x_process p USING (process_id) WHERE c.kind = 1;
CREATE VIEW CUPTI_ACTIVITY_KIND_MEMSET AS SELECT a.start_ns AS start,
  a.start_ns + a.duration_ns AS "end", d.ordinal AS deviceId, l.context_id AS contextId,
  CAST(NULL AS INT) AS greenContextId, l.stream_id AS streamId, a.correlation_id AS correlationId,
  coalesce(p.source_id, p.pid << 24) AS globalPid, c.memset_value AS value, a.bytes,
  a.graph_node_id AS graphNodeId,
  c.memory_kind AS memKind
  FROM x_activity a JOIN x_config c USING (config_id) JOIN x_lane l USING (lane_id)
  JOIN x_device d USING (device_id) JOIN x_process p USING (process_id) WHERE c.kind = 2;
CREATE VIEW CUPTI_ACTIVITY_KIND_RUNTIME AS SELECT c.start_ns AS start,
  c.start_ns + c.duration_ns AS "end", c.event_class AS eventClass,
  coalesce(p.source_id, p.pid << 24, 0) | coalesce(c.thread_id, 0) AS globalTid,
  c.correlation_id AS correlationId,
  c.name_id AS nameId, c.return_value AS returnValue, CAST(NULL AS INT) AS callchainId
  FROM (SELECT process_id, thread_id, name_id, correlation_id, start_ns, duration_ns,
  event_class, return_value FROM x_api_call UNION ALL
  SELECT n.process_id, n.thread_id, n.name_id, r.correlation_id, r.start_ns, r.duration_ns,
  n.event_class, n.return_value
  FROM x_packed_call r JOIN x_call_kind n USING (call_kind)) c
  LEFT JOIN x_process p USING (process_id);
CREATE VIEW NVTX_EVENTS AS SELECT r.start_ns AS start, r.end_ns AS "end", r.event_type AS eventType, CAST(NULL AS INT) AS rangeId, CAST(NULL AS INT) AS category,
  CAST(NULL AS INT) AS color, t.text AS text,
  coalesce(r.global_tid, coalesce(p.source_id, p.pid << 24) | coalesce(r.thread_id, 0)) AS globalTid,
  CAST(NULL AS INT) AS endGlobalTid, r.text_id AS textId,
  r.domain_number AS domainId,
  CAST(NULL AS INT) AS uint64Value, CAST(NULL AS INT) AS int64Value,
  CAST(NULL AS REAL) AS doubleValue, CAST(NULL AS INT) AS uint32Value,
  CAST(NULL AS INT) AS int32Value, CAST(NULL AS REAL) AS floatValue,
  CAST(NULL AS INT) AS jsonTextId, CAST(NULL AS TEXT) AS jsonText,
  CAST(NULL AS BLOB) AS binaryData
  FROM (SELECT CAST(NULL AS INT) AS global_tid, process_id, thread_id, CASE WHEN depth IS NULL THEN 60 ELSE 59 END AS event_type,
  start_ns, start_ns + duration_ns AS end_ns, text_id, coalesce(domain_number, domain_id)
  AS domain_number FROM x_range WHERE domain_id IS NULL OR domain_id NOT IN
  (SELECT string_id FROM x_string WHERE text = 'torch.python_function')
  UNION ALL SELECT global_tid, 0, 0, event_type, start_ns, end_ns, text_id, domain_number
  FROM x_nvtx_row) r
  LEFT JOIN x_process p USING (process_id) JOIN x_string t ON t.string_id = r.text_id;
CREATE VIEW TARGET_INFO_GPU AS SELECT ordinal AS id, name, sm_count AS smCount,
  clock_hz AS clockRate, memory_bandwidth_bytes_per_s AS memoryBandwidth,
  memory_bytes AS totalMemory, uuid, compute_capability AS computeCapability
  FROM x_device WHERE kind = 0;
)sql";
}

}  // namespace

std::string ViewsSql() {
  return PackedViews() + RunViews() + ModuleViews() + ActivityViews() + AnalysisViews() +
         HostViewsSql() + NsightViews();
}

}  // namespace xlatrace::store
