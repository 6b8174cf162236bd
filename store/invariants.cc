// SPDX-License-Identifier: Apache-2.0
#include "store/invariants.h"

#include <string_view>

#include <fmt/format.h>

namespace xlatrace::store {
namespace {

struct Promise {
  std::string_view sentence;
  std::string_view violations;  // A query that returns one row per violation.
};

// Device time is the sum of self_ns over `activity`; each of these tables must sum to it.
constexpr Promise kPromises[] = {
    {"an activity ends before it starts",
     "SELECT activity_id FROM activity WHERE end_ns < start_ns"},
    {"self time is negative or longer than the duration",
     "SELECT activity_id FROM activity WHERE self_ns < 0 OR self_ns > duration_ns"},
    {"confidence is none if and only if there is neither an instruction nor an op",
     "SELECT activity_id FROM activity WHERE (confidence = 'none') <> (instruction IS NULL AND "
     "evidence IS NOT 'op_range')"},
    {"there is a reason if and only if there is neither an instruction nor an op",
     "SELECT activity_id FROM activity WHERE (unattributed_reason IS NOT NULL) <> "
     "(confidence = 'none')"},
    {"an op outside of modules has a name and no instruction",
     "SELECT activity_id FROM activity WHERE evidence = 'op_range' AND (op_name IS NULL OR "
     "op_type IS NULL OR instruction IS NOT NULL OR module_id IS NOT NULL OR "
     "origin <> 'framework')"},
    {"an attributed activity has a module and evidence",
     "SELECT activity_id FROM activity WHERE instruction IS NOT NULL AND "
     "(module_id IS NULL OR evidence IS NULL)"},
    {"an activity's instruction lies in its module",
     "SELECT b.label_id FROM x_label b JOIN x_instruction i USING (instruction_id) "
     "WHERE i.module_id <> b.module_id"},
    {"every activity has a label", "SELECT activity_id FROM x_activity WHERE label_id IS NULL"},
    {"every packed row is read back",
     "SELECT 1 WHERE (SELECT count(*) FROM x_packed_activity) <> "
     "(SELECT count(*) FROM x_activity)"},
    {"op_time sums to device time",
     "SELECT a, b FROM (SELECT coalesce(sum(self_ns), 0) a FROM activity), "
     "(SELECT coalesce(sum(self_ns), 0) b FROM op_time) WHERE a <> b"},
    {"scope_time sums to device time",
     "SELECT a, b FROM (SELECT coalesce(sum(self_ns), 0) a FROM activity), "
     "(SELECT coalesce(sum(self_ns), 0) b FROM scope_time) WHERE a <> b"},
    {"phase_time sums to device time on every device",
     "SELECT device_id FROM (SELECT device_id, sum(self_ns) ns FROM activity GROUP BY device_id) "
     "LEFT JOIN (SELECT device_id, sum(self_ns) phase_ns FROM phase_time GROUP BY device_id) "
     "USING (device_id) WHERE ns <> coalesce(phase_ns, 0)"},
    {"the shares of an instruction sum to 1",
     "SELECT instruction_id FROM x_instruction_share GROUP BY instruction_id "
     "HAVING sum(share_ppm) <> 1000000 OR min(share_ppm) < 0"},
    {"the shares of a graph row sum to 1",
     "SELECT label_id FROM x_label_share GROUP BY label_id "
     "HAVING sum(share_ppm) <> 1000000"},
    {"the parts of a step sum to its duration",
     "SELECT s.step FROM step s JOIN (SELECT device_id, step, sum(wall_ns) ns FROM step_part "
     "GROUP BY device_id, step) p ON p.device_id = s.device_id AND p.step = s.step "
     "WHERE ns <> s.end_ns - s.start_ns"},
    {"busy and idle time are within the span of a device",
     "SELECT device_id FROM busy_time WHERE busy_ns + idle_ns > end_ns - start_ns"},
    {"overlap is device time less busy time",
     "SELECT b.device_id FROM busy_time b JOIN (SELECT device_id, sum(self_ns) ns FROM activity "
     "GROUP BY device_id) a USING (device_id) WHERE a.ns - b.busy_ns <> b.overlap_ns"},
    {"exposed time is part of the whole",
     "SELECT device_id FROM busy_time WHERE exposed_collective_ns > collective_ns OR "
     "exposed_copy_ns > copy_ns OR steady_busy_ns > busy_ns"},
    {"percentiles of launches are in order",
     "SELECT device_id FROM launch_queue WHERE calls_on_idle > calls OR calls < 1 OR "
     "latency_p50_ns > latency_p90_ns OR queued_p50_ns > queued_p90_ns OR "
     "outstanding_p50 > outstanding_p90 OR outstanding_p90 > outstanding_max"},
    {"an activity of an execution ran on its device",
     "SELECT a.activity_id FROM activity a JOIN execution e USING (execution_id) "
     "WHERE a.device_id <> e.device_id"},
    {"wasted and expected time are part of an op's time",
     "SELECT handle FROM op_time WHERE wasted_ns NOT BETWEEN 0 AND self_ns OR "
     "expected_ns NOT BETWEEN 0 AND self_ns"},
    {"utilisation is 0 to 100 %",
     "SELECT handle FROM op_time WHERE compute_utilisation_pct NOT BETWEEN 0 AND 100 OR "
     "memory_utilisation_pct NOT BETWEEN 0 AND 100"},
    {"only an op whose cost is known wastes time",
     "SELECT handle FROM op_time WHERE wasted_ns IS NOT NULL AND (flops IS NULL OR bytes IS NULL)"},
    {"the bound of an op is a word of the list",
     "SELECT handle FROM op_time WHERE bound_by IS NULL OR "
     "bound_by NOT IN ('compute', 'memory', 'latency', 'network', 'hidden', 'waiting', "
     "'unknown')"},
    {"occupancy is more than 0 and at most 100 %",
     "SELECT launch_id FROM launch WHERE theoretical_occupancy_pct <= 0 OR "
     "theoretical_occupancy_pct > 100 OR waves < 0 OR blocks_per_sm < 1 UNION ALL "
     "SELECT handle FROM op_time WHERE theoretical_occupancy_pct <= 0 OR "
     "theoretical_occupancy_pct > 100"},
    {"kernels sum to the time of launches",
     "SELECT a, b FROM (SELECT coalesce(sum(self_ns), 0) a FROM launch), "
     "(SELECT coalesce(sum(self_ns), 0) b FROM kernel) WHERE a <> b"},
    {"op_launch has every timed activity of every op once",
     "SELECT a, b FROM (SELECT count(*) a FROM activity WHERE confidence <> 'none' AND "
     "duration_ns IS NOT NULL), "
     "(SELECT count(*) b FROM op_launch WHERE duration_ns IS NOT NULL) WHERE a <> b"},
    {"an activity without a duration has neither an end nor a time of its own",
     "SELECT activity_id FROM activity WHERE (duration_ns IS NULL) <> (end_ns IS NULL) OR "
     "(duration_ns IS NULL) <> (self_ns IS NULL) OR (start_ns IS NULL AND end_ns IS NOT NULL)"},
    {"a collective waits at most as long as it runs",
     "SELECT activity_id FROM collective JOIN activity USING (activity_id) "
     "WHERE arrival_skew_ns NOT BETWEEN 0 AND duration_ns OR wait_ns NOT BETWEEN 0 AND duration_ns "
     "OR bus_bandwidth < 0"},
    {"the last rank of an exchange does not wait",
     "SELECT group_id FROM collective WHERE wait_ns IS NOT NULL GROUP BY group_id "
     "HAVING min(wait_ns) <> 0 OR count(*) <> max(group_size) OR group_id <> min(activity_id)"},
    {"the critical path of a step sums to it",
     "SELECT s.step FROM step s JOIN (SELECT step, device_id, sum(end_ns - start_ns) ns, "
     "min(start_ns) first, max(end_ns) last FROM critical_path GROUP BY 1, 2) p "
     "ON p.step = s.step AND p.device_id = s.device_id WHERE p.ns <> s.end_ns - s.start_ns OR "
     "p.first <> s.start_ns OR p.last <> s.end_ns"},
    {"a time tree has one root",
     "SELECT process_id FROM x_time_tree GROUP BY process_id, device_id "
     "HAVING sum(parent_id IS NULL) <> 1"},
    {"the children of a node of a time tree sum to it",
     "SELECT p.node_id FROM x_time_tree p JOIN (SELECT parent_id, sum(ns) ns, "
     "sum(per_step_ns) per_step_ns FROM x_time_tree GROUP BY parent_id) c "
     "ON c.parent_id = p.node_id WHERE c.ns <> p.ns OR c.per_step_ns <> p.per_step_ns"},
    {"a node of a time tree is at least 0 and at most its parent",
     "SELECT c.node_id FROM x_time_tree c JOIN x_time_tree p ON p.node_id = c.parent_id "
     "WHERE c.ns < 0 OR c.ns > p.ns OR c.per_step_ns < 0 OR c.per_step_ns > p.per_step_ns"},
    {"the parts of the peak of a program's buffers sum to its peak memory",
     "SELECT module_id FROM (SELECT module_id, sum(peak_bytes) b FROM x_buffer WHERE "
     "memory_space = 'device' GROUP BY 1) JOIN module USING (module_id) "
     "WHERE b <> peak_memory_bytes"},
    {"a buffer lives at positions of its program",
     "SELECT b.buffer_id FROM x_buffer b JOIN (SELECT module_id, max(position) p FROM "
     "x_memory_position GROUP BY 1) m USING (module_id) WHERE b.first_position < 0 OR "
     "b.first_position > b.last_position OR b.last_position > m.p"},
    {"a program uses at most its peak memory at each position",
     "SELECT m.position FROM x_memory_position m JOIN module USING (module_id) "
     "WHERE m.bytes > peak_memory_bytes OR m.bytes < 0"},
    {"a gap is at least 1 us long",
     "SELECT g.start_ns FROM gap g WHERE g.end_ns - g.start_ns < 1000"},
};

// Text is NULL or not empty.
Status CheckEmptyText(RunDb& db, std::vector<std::string>* broken) {
  XLATRACE_ASSIGN(const Table views,
                  db.Select("SELECT name FROM sqlite_master WHERE type = 'view' AND "
                            "name = lower(name) AND name NOT LIKE 'x\\_%' ESCAPE '\\'"));
  for (size_t i = 0; i < views.rows.size(); ++i) {
    const std::string view = views.Text(i, "name");
    XLATRACE_ASSIGN(const Table head, db.Select("SELECT * FROM \"" + view + "\" LIMIT 0"));
    std::string condition;
    for (const std::string& column : head.columns) {
      condition += fmt::format("{}\"{}\" = ''", condition.empty() ? "" : " OR ", column);
    }
    XLATRACE_ASSIGN(const Table rows, db.Select(fmt::format("SELECT count(*) AS n FROM \"{}\" "
                                                            "WHERE {}",
                                                            view, condition)));
    if (rows.Int(0, "n") > 0) {
      broken->push_back(
          fmt::format("{} rows of {} hold '' where NULL belongs", rows.Int(0, "n"), view));
    }
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> CheckInvariants(RunDb& db) {
  std::vector<std::string> broken;
  for (const Promise& promise : kPromises) {
    XLATRACE_ASSIGN(const Table rows,
                    db.Select(fmt::format("SELECT count(*) AS n FROM ({})", promise.violations)));
    if (rows.Int(0, "n") > 0) {
      broken.push_back(fmt::format("broken {} times: {}", rows.Int(0, "n"), promise.sentence));
    }
  }
  XLATRACE_TRY(CheckEmptyText(db, &broken));
  return broken;
}

}  // namespace xlatrace::store
