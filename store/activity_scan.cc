#include "store/activity_scan.h"

#include <fmt/format.h>

#include "model/words.h"

namespace xlatrace::store {
namespace {

using model::Text;

// Replaces the numbers of a vocabulary by its words.
template <typename Enum>
void ToWords(Table& table, std::string_view column) {
  const size_t at = table.Column(column);
  const auto words = model::Texts<Enum>();
  for (auto& row : table.rows) {
    const auto* value = std::get_if<int64_t>(&row[at]);
    if (value == nullptr) continue;
    const auto index = static_cast<uint64_t>(*value);
    row[at] = index < words.size() ? Cell(std::string(words[index])) : Cell();
  }
}

}  // namespace

Status ScanActivities(RunDb& db, const std::function<bool(const ScannedActivity&)>& row) {
  XLATRACE_ASSIGN(Statement rows,
                  db.Prepare("SELECT activity_id, lane_id, config_id, label_id, start_ns,"
                             " duration_ns, self_ns, step FROM x_activity ORDER BY activity_id"));
  ScannedActivity activity;
  while (true) {
    XLATRACE_ASSIGN(const bool more, rows.Step());
    if (!more) return {};
    activity.activity_id = rows.Int64(0);
    activity.lane_id = rows.Int64(1);
    activity.config_id = rows.Int64(2);
    activity.label_id = rows.OptionalInt64(3).value_or(0);
    activity.timed = !rows.IsNull(5);
    activity.start_ns = rows.Int64(4);
    activity.duration_ns = rows.Int64(5);
    activity.self_ns = rows.Int64(6);
    activity.step = rows.OptionalInt64(7);
    if (!row(activity)) return {};
  }
}

Result<Table> ScanLanes(RunDb& db) {
  return db.Select("SELECT lane_id, device_id, stream_id FROM x_lane");
}

Result<Table> ScanConfigs(RunDb& db) {
  XLATRACE_ASSIGN(
      Table table,
      db.Select(
          "SELECT c.config_id, c.kind, CASE WHEN c.kind = 1 THEN c.copy_kind END AS copy_kind,"
          " n.text AS name, k.text AS kernel_symbol, c.grid_x, c.grid_y, c.grid_z, c.block_x,"
          " c.block_y, c.block_z, c.cluster_x, c.cluster_y, c.cluster_z,"
          " c.registers_per_thread, c.shared_memory_static_bytes,"
          " c.shared_memory_dynamic_bytes, c.local_memory_per_thread_bytes,"
          " coalesce(y.theoretical_milli_pct, c.theoretical_occupancy_milli_pct) / 1000.0"
          " AS theoretical_occupancy_pct, y.limiter AS occupancy_limiter, y.blocks_per_sm,"
          " y.waves_milli / 1000.0 AS waves"
          " FROM x_config c LEFT JOIN x_string n ON n.string_id = c.name_id"
          " LEFT JOIN x_string k ON k.string_id = c.symbol_id"
          " LEFT JOIN x_occupancy y ON y.config_id = c.config_id AND y.device_id ="
          " (SELECT min(device_id) FROM x_occupancy o WHERE o.config_id = c.config_id)"));
  ToWords<model::ActivityKind>(table, "kind");
  ToWords<model::CopyKind>(table, "copy_kind");
  return table;
}

Result<Table> ScanLabels(RunDb& db) {
  XLATRACE_ASSIGN(Table table,
                  db.Select("SELECT b.label_id, b.module_id, i.name AS instruction,"
                            " nullif(b.evidence, 0) AS evidence, b.confidence,"
                            " CASE WHEN b.instruction_id IS NULL THEN coalesce(b.reason, 0) END"
                            " AS unattributed_reason, b.origin FROM x_label b"
                            " LEFT JOIN x_instruction i ON i.instruction_id = b.instruction_id"));
  ToWords<model::Evidence>(table, "evidence");
  ToWords<model::Confidence>(table, "confidence");
  ToWords<model::Reason>(table, "unattributed_reason");
  ToWords<model::Origin>(table, "origin");
  return table;
}

Result<Table> ScanLabelShares(RunDb& db) {
  return db.Select(
      "SELECT s.label_id, i.module_id, i.name AS instruction, s.share_ppm"
      " FROM x_label_share s JOIN x_instruction i USING (instruction_id)"
      " ORDER BY s.label_id");
}

}  // namespace xlatrace::store
