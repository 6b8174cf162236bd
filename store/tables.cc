// SPDX-License-Identifier: Apache-2.0

// The private tables. Rows that exist once per launch are small. Repeated data is a number into a
// dictionary, and rare data has its own tables. The tables x_packed_activity (packed_row.h) and
// x_packed_range are read through the private views x_activity, x_api_call, x_gap and x_range. The
// table x_packed_call holds calls without an activity.

// The keys of views (docs/schema.md) can be looked up: by a primary key, or by an index at the end
// of the text.

#include "store/host_sample_rows.h"
#include "store/packed_row.h"
#include "store/schema.h"

namespace xlatrace::store {

std::string TablesSql() {
  return PackedTableSql() + R"sql(
CREATE TABLE x_run_info(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE x_string(string_id INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE x_process(process_id INTEGER PRIMARY KEY, host TEXT, pid INT, rank INT,
  local_rank INT, command TEXT, clock_offset_ns INT, clock_error_ns INT, source_id INT,
  name TEXT, recorded_from_ns INT);
CREATE TABLE x_thread(process_id INT NOT NULL, thread_id INT NOT NULL, name TEXT NOT NULL,
  PRIMARY KEY(process_id, thread_id)) WITHOUT ROWID;
CREATE TABLE x_device(device_id INTEGER PRIMARY KEY, process_id INT NOT NULL, kind INT NOT NULL,
  ordinal INT, name TEXT, uuid TEXT, compute_capability TEXT, sm_count INT, clock_hz INT,
  memory_bandwidth_bytes_per_s INT, memory_bytes INT, max_threads_per_sm INT,
  max_blocks_per_sm INT, registers_per_sm INT, shared_memory_per_sm_bytes INT,
  shared_memory_per_block_optin_bytes INT, warp_size INT,
  shared_memory_per_block_bytes INT,
  shared_memory_reserved_per_block_bytes INT,
  max_threads_per_block INT, registers_per_block INT, l2_bytes INT);
CREATE TABLE x_lane(lane_id INTEGER PRIMARY KEY, device_id INT NOT NULL, stream_id INT,
  context_id INT, name TEXT, priority INT);
CREATE TABLE x_config(config_id INTEGER PRIMARY KEY, kind INT NOT NULL, symbol_id INT,
  name_id INT, copy_kind INT, grid_x INT, grid_y INT, grid_z INT, block_x INT, block_y INT,
  block_z INT, cluster_x INT, cluster_y INT, cluster_z INT, registers_per_thread INT,
  shared_memory_static_bytes INT, shared_memory_dynamic_bytes INT,
  theoretical_occupancy_milli_pct INT, demangled_id INT, local_memory_per_thread_bytes INT,
  launch_type INT, cache_config INT, local_memory_total_bytes INT,
  shared_memory_executed_bytes INT, source_memory_kind INT, memory_kind INT, memset_value INT);
CREATE TABLE x_hint(hint_id INTEGER PRIMARY KEY, evidence INT NOT NULL, module_name TEXT,
  program_id INT, instruction TEXT, op_name TEXT, category TEXT, source_file TEXT,
  source_line INT, flops INT, bytes_accessed INT, module_id INT, enclosing TEXT, op_type TEXT,
  hlo TEXT);
CREATE TABLE x_module(module_id INTEGER PRIMARY KEY, process_id INT NOT NULL, program_id INT,
  name TEXT, source INT NOT NULL, file TEXT, format INT NOT NULL, hlo BLOB,
  thunk_sequence BLOB, thunk_metadata BLOB, told_program_id INT, hlo_module_id INT,
  added INT NOT NULL);
CREATE TABLE x_packed_range(range_kind INT NOT NULL, start_ns INT NOT NULL,
  duration_ns INT NOT NULL, depth INT);
CREATE TABLE x_range_kind(range_kind INTEGER PRIMARY KEY, process_id INT NOT NULL, thread_id INT,
  domain_id INT, text_id INT NOT NULL, domain_number INT);
CREATE TABLE x_nvtx_row(global_tid INT, event_type INT NOT NULL,
  start_ns INT, end_ns INT, text_id INT NOT NULL, domain_number INT);
CREATE TABLE x_kind(kind_id INTEGER PRIMARY KEY, lane_id INT NOT NULL, config_id INT NOT NULL,
  hint_id INT, label_id INT, bytes INT, graph_id INT, graph_node_id INT);
CREATE TABLE x_slot(slot_id INTEGER PRIMARY KEY, execution_id INT, step INT, run_key INT);
CREATE TABLE x_call_kind(call_kind INTEGER PRIMARY KEY, process_id INT NOT NULL, thread_id INT,
  name_id INT NOT NULL, event_class INT, return_value INT);
CREATE TABLE x_other_call(api_call_id INTEGER PRIMARY KEY, call_kind INT NOT NULL,
  correlation_id INT, start_ns INT NOT NULL, duration_ns INT NOT NULL);
CREATE TABLE x_packed_call(call_kind INT NOT NULL, start_ns INT NOT NULL,
  duration_ns INT NOT NULL, correlation_id INT);
CREATE TABLE x_other_gap(device_id INT NOT NULL, start_ns INT NOT NULL, end_ns INT NOT NULL,
  cause INT NOT NULL, previous_activity_id INT, next_activity_id INT, host_range_id INT);
CREATE TABLE x_step_mark(process_id INT NOT NULL, number INT NOT NULL, start_ns INT NOT NULL,
  end_ns INT NOT NULL);
CREATE TABLE x_window(process_id INT NOT NULL, start_ns INT NOT NULL, end_ns INT NOT NULL,
  why_ended INT NOT NULL);
CREATE TABLE x_loss(process_id INT NOT NULL, start_ns INT NOT NULL, end_ns INT NOT NULL,
  at_least INT NOT NULL, cause TEXT, correlation_id INT);
CREATE TABLE x_ending(process_id INTEGER PRIMARY KEY, ended INT NOT NULL, signal INT,
  unrecorded_from_ns INT, unrecorded_tail_ns INT);
CREATE TABLE x_compile(process_id INT NOT NULL, module_id INT, name TEXT NOT NULL,
  start_ns INT NOT NULL, end_ns INT NOT NULL, stage INT NOT NULL, compilation INT,
  source_file TEXT, source_line INT, function_file TEXT, function_line INT, is_library INT,
  is_operation INT, is_again INT, is_unfinished INT);
CREATE TABLE x_compile_detail(process_id INT NOT NULL, compilation INT NOT NULL,
  kind TEXT NOT NULL, name TEXT, before TEXT, after TEXT, value INT, source_file TEXT,
  source_line INT, is_difference INT NOT NULL);
CREATE TABLE x_run_stat(name TEXT NOT NULL, severity INT NOT NULL, source TEXT, value INT NOT NULL,
  advice TEXT, derived INT NOT NULL);

CREATE TABLE x_module_facts(module_id INTEGER PRIMARY KEY, fingerprint TEXT, role INT NOT NULL,
  role_reason TEXT, framework_function TEXT, instruction_count INT, flops INT, bytes INT,
  peak_memory_bytes INT, rank INT);
CREATE TABLE x_instruction(instruction_id INTEGER PRIMARY KEY, module_id INT,
  name TEXT NOT NULL, computation TEXT, opcode TEXT, category TEXT, op_kind INT NOT NULL,
  shape TEXT, operands TEXT, op_name TEXT, op_name_method INT NOT NULL, op_type TEXT,
  stack_id INT, phase INT NOT NULL, layer TEXT, layer_group TEXT,
  mixed INT NOT NULL, flops INT, bytes INT, fusion_kind TEXT);
CREATE TABLE x_instruction_share(instruction_id INT NOT NULL, share_ppm INT NOT NULL, op_name TEXT,
  phase INT NOT NULL, layer TEXT, layer_group TEXT, stack_id INT);
CREATE TABLE x_source_place(place_id INTEGER PRIMARY KEY, file TEXT, line INT, function TEXT,
  is_user INT NOT NULL);
CREATE TABLE x_source_stack(stack_id INTEGER PRIMARY KEY, user_place INT NOT NULL,
  library_place INT, is_library INT NOT NULL);
CREATE TABLE x_source_frame(stack_id INT NOT NULL, depth INT NOT NULL, place_id INT NOT NULL,
  PRIMARY KEY(stack_id, depth)) WITHOUT ROWID;
CREATE TABLE x_label(label_id INTEGER PRIMARY KEY, module_id INT, instruction_id INT,
  evidence INT NOT NULL, confidence INT NOT NULL, reason INT, origin INT NOT NULL, losers TEXT);
CREATE TABLE x_execution(execution_id INTEGER PRIMARY KEY, module_id INT NOT NULL,
  device_id INT NOT NULL, start_ns INT NOT NULL, end_ns INT NOT NULL, activities INT NOT NULL,
  complete INT NOT NULL);
CREATE TABLE x_label_share(label_id INT NOT NULL, instruction_id INT NOT NULL,
  share_ppm INT NOT NULL);

CREATE TABLE x_step(step INT NOT NULL, process_id INT NOT NULL, device_id INT NOT NULL,
  start_ns INT NOT NULL, end_ns INT NOT NULL, device_ns INT NOT NULL, busy_ns INT NOT NULL,
  steady INT NOT NULL, how INT NOT NULL, has_duration INT NOT NULL,
  first_execution INT NOT NULL, typical INT NOT NULL);
CREATE TABLE x_op_time(op_id INTEGER PRIMARY KEY, module_id INT, instruction_id INT,
  occurrences INT NOT NULL, total_ns INT NOT NULL, self_ns INT NOT NULL, steady_ns INT NOT NULL,
  min_ns INT, max_ns INT, flops INT, bytes INT, wasted_ns INT, bound_by TEXT,
  theoretical_occupancy_milli_pct INT, confidence INT NOT NULL, estimated INT NOT NULL,
  expected_ns INT, compute_utilisation_milli_pct INT, memory_utilisation_milli_pct INT,
  compute_type TEXT, occupancy_limiter TEXT, critical_milli_pct INT, slack_ns INT);
CREATE TABLE x_scope_time(op_name TEXT, layer TEXT, layer_group TEXT, phase INT NOT NULL,
  stack_id INT, self_ns INT NOT NULL, estimated_ns INT NOT NULL);
CREATE TABLE x_phase_time(device_id INT NOT NULL, step INT, phase INT NOT NULL,
  self_ns INT NOT NULL, estimated_ns INT NOT NULL);
CREATE TABLE x_step_part(device_id INT NOT NULL, step INT NOT NULL, part INT NOT NULL,
  wall_ns INT NOT NULL);
CREATE TABLE x_busy_time(device_id INT NOT NULL, start_ns INT, end_ns INT, busy_ns INT NOT NULL,
  idle_ns INT NOT NULL, overlap_ns INT NOT NULL, compute_ns INT NOT NULL,
  collective_ns INT NOT NULL, exposed_collective_ns INT NOT NULL, copy_ns INT NOT NULL,
  exposed_copy_ns INT NOT NULL, steady_busy_ns INT NOT NULL);
CREATE TABLE x_launch_queue(device_id INTEGER PRIMARY KEY, steady INT NOT NULL,
  calls INT NOT NULL, calls_on_idle INT NOT NULL, call_p50_ns INT NOT NULL,
  latency_p50_ns INT NOT NULL, latency_p90_ns INT NOT NULL, queued_p50_ns INT NOT NULL,
  queued_p90_ns INT NOT NULL, outstanding_p50 INT NOT NULL, outstanding_p90 INT NOT NULL,
  outstanding_max INT NOT NULL);
CREATE TABLE x_late_rank(process_id INT NOT NULL, device_id INT NOT NULL, ranks INT NOT NULL,
  by_host INT NOT NULL, cost_ns INT NOT NULL, excess_ns INT NOT NULL, step_ns INT NOT NULL);
CREATE TABLE x_collective(activity_id INTEGER PRIMARY KEY, op TEXT, bytes INT, group_size INT,
  group_id INT, algorithm_bandwidth INT, bus_bandwidth INT, exposed_ns INT, wait_ns INT,
  arrival_skew_ns INT);
CREATE TABLE x_critical_path(step INT NOT NULL, device_id INT NOT NULL, activity_id INT,
  start_ns INT NOT NULL, end_ns INT NOT NULL, kind INT NOT NULL);
CREATE TABLE x_replay(steps INT NOT NULL, step_ns INT NOT NULL, error_milli_pct INT,
  largest_error_milli_pct INT, withheld TEXT, all_findings_step_ns INT, assumptions TEXT);
CREATE TABLE x_device_facts(device_id INTEGER PRIMARY KEY, gpu TEXT, peaks_source TEXT,
  compute_capability TEXT, sm_count INT, clock_hz INT, memory_bandwidth_bytes_per_s INT,
  memory_bytes INT, max_threads_per_sm INT, max_blocks_per_sm INT, registers_per_sm INT,
  shared_memory_per_sm_bytes INT, shared_memory_per_block_optin_bytes INT, warp_size INT,
  shared_memory_per_block_bytes INT, shared_memory_reserved_per_block_bytes INT,
  max_threads_per_block INT, registers_per_block INT, l2_bytes INT, peak_flops TEXT,
  host_link_bytes_per_s INT, peer_link_bytes_per_s INT);
CREATE TABLE x_occupancy(config_id INT NOT NULL, device_id INT NOT NULL,
  theoretical_milli_pct INT, limiter TEXT, blocks_per_sm INT, waves_milli INT,
  PRIMARY KEY(config_id, device_id)) WITHOUT ROWID;
CREATE TABLE x_gap_evidence(next_activity_id INTEGER PRIMARY KEY, evidence TEXT NOT NULL);
CREATE TABLE x_time_tree(node_id INTEGER PRIMARY KEY, parent_id INT, process_id INT,
  device_id INT, kind INT NOT NULL, name TEXT, instruction_id INT, source_file TEXT,
  source_line INT, ns INT NOT NULL, per_step_ns INT, p25_ns INT, p75_ns INT);
CREATE TABLE x_buffer(buffer_id INTEGER PRIMARY KEY, module_id INT NOT NULL, allocation INT NOT NULL,
  offset_bytes INT NOT NULL, bytes INT NOT NULL, peak_bytes INT NOT NULL, memory_space TEXT NOT NULL,
  owner TEXT NOT NULL, instruction TEXT, shape_index TEXT, shape TEXT, described_by INT,
  first_position INT NOT NULL, last_position INT NOT NULL);
CREATE TABLE x_memory_position(module_id INT NOT NULL, position INT NOT NULL, instruction_id INT,
  bytes INT NOT NULL, start_ns INT, end_ns INT, PRIMARY KEY(module_id, position)) WITHOUT ROWID;
CREATE TABLE x_finding(rank INTEGER PRIMARY KEY, id TEXT NOT NULL, title TEXT NOT NULL, sentence TEXT,
  headline TEXT, reason TEXT,  saves_low_ns_per_step INT, saves_high_ns_per_step INT, saves_low_ns_per_run INT,
  saves_high_ns_per_run INT, basis TEXT, confidence TEXT,
  where_op TEXT, where_layer TEXT, where_source TEXT, evidence TEXT, action TEXT,
  how_to_check TEXT, replay_error_milli_pct INT);
CREATE TABLE x_ruled_out(position INTEGER PRIMARY KEY, id TEXT NOT NULL, withheld INT NOT NULL,
  text TEXT NOT NULL, what TEXT, figure TEXT, evidence TEXT);
CREATE TABLE x_rank(rank_id INTEGER PRIMARY KEY, rank INT NOT NULL, ordinal INT NOT NULL, host TEXT,
  source TEXT NOT NULL, source_process_id INT NOT NULL, source_device_id INT NOT NULL,
  process_id INT, device_id INT, program TEXT, clock_offset_ns INT, clock_drift_ppb INT,
  clock_error_ns INT, clock_set INT NOT NULL, activities INT NOT NULL, device_ns INT NOT NULL,
  excess_ns_per_step INT);
CREATE TABLE x_rank_step(rank_id INT NOT NULL, step INT NOT NULL, start_ns INT,
  step_ns INT NOT NULL, wait_ns INT, transfer_ns INT, gemm_ns INT NOT NULL, other_ns INT NOT NULL,
  idle_ns INT NOT NULL, steady INT NOT NULL);
CREATE TABLE x_job_collective(position INTEGER PRIMARY KEY, program TEXT, instruction TEXT NOT NULL,
  op TEXT NOT NULL, group_size INT, bytes INT, ranks INT NOT NULL, group_count INT NOT NULL,
  paired INT NOT NULL, transfer_ns INT, arrival_skew_ns INT, most_skew_ns INT, bus_bandwidth INT,
  exposed_ns_per_step INT NOT NULL, wait_ns_per_step INT, last_rank_id INT, last_times INT NOT NULL);
CREATE TABLE x_job_path(position INTEGER PRIMARY KEY, step INT NOT NULL, rank_id INT NOT NULL,
  from_program TEXT, from_instruction TEXT, to_program TEXT, to_instruction TEXT,
  own_ns INT NOT NULL, exchange_ns INT NOT NULL, lead_ns INT NOT NULL, collectives INT NOT NULL);

CREATE INDEX x_instruction_key ON x_instruction(module_id, name);
CREATE INDEX x_instruction_share_key ON x_instruction_share(instruction_id);
CREATE INDEX x_buffer_key ON x_buffer(module_id);
CREATE INDEX x_op_time_key ON x_op_time(instruction_id);
CREATE INDEX x_label_share_key ON x_label_share(label_id);
CREATE INDEX x_compile_detail_key ON x_compile_detail(process_id, compilation);
CREATE INDEX x_step_key ON x_step(step, device_id);
CREATE INDEX x_critical_path_key ON x_critical_path(step, device_id);
CREATE INDEX x_step_part_key ON x_step_part(device_id, step);
CREATE INDEX x_phase_time_key ON x_phase_time(device_id, step);
CREATE INDEX x_busy_time_key ON x_busy_time(device_id);
)sql" + HostTablesSql();
}

}  // namespace xlatrace::store
