// SPDX-License-Identifier: Apache-2.0
#include "store/activity_scan.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "model/words.h"
#include "store/packed_scan.h"

namespace xlatrace::store {
namespace {

using model::Text;

// Replaces the numbers of a vocabulary by its texts.
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

// SQL for the text of a number of a vocabulary; NULL for an unknown number.
template <typename Enum>
std::string ConfigWord(std::string_view column) {
  std::string sql = fmt::format("CASE {}", column);
  int number = 0;
  for (const std::string_view word : model::Texts<Enum>()) {
    sql += fmt::format(" WHEN {} THEN '{}'", number++, word);
  }
  return sql + " END";
}

model::GapCause CauseOf(int64_t value) {
  const bool known =
      value >= 0 && value < static_cast<int64_t>(model::Texts<model::GapCause>().size());
  return known ? static_cast<model::GapCause>(value) : model::GapCause::kUnknown;
}

// A dictionary whose ids (column 0) count from 1, as the writer makes them.
template <typename Entry, typename Make>
Result<std::vector<Entry>> LoadDictionary(RunDb& db, const std::string& sql, Make make) {
  std::vector<Entry> entries;
  XLATRACE_TRY(db.ForEach(sql, [&](const Statement& row) {
    if (row.Int64(0) != static_cast<int64_t>(entries.size()) + 1) return false;
    entries.push_back(make(row));
    return true;
  }));
  return entries;
}

// End times of activity 1, 2...: 4 bytes each, as the time since the first of a block. The few
// times too far from it are stored separately.
class EndTimes {
 public:
  void Add(int64_t end_ns) {
    if (size_ % kBlock == 0) blocks_.push_back(std::make_unique<Block>(Block{end_ns, {}}));
    Block& block = *blocks_.back();
    const auto offset = static_cast<__int128>(end_ns) - block.first_ns;
    if (offset > kOverflowOffset && offset <= std::numeric_limits<int32_t>::max()) {
      block.offsets[size_ % kBlock] = static_cast<int32_t>(offset);
    } else {
      block.offsets[size_ % kBlock] = kOverflowOffset;
      far_.emplace(size_, end_ns);
    }
    ++size_;
  }
  int64_t size() const { return static_cast<int64_t>(size_); }
  // `activity_id`: 1 to size().
  int64_t Of(int64_t activity_id) const {
    const auto index = static_cast<size_t>(activity_id) - 1;
    const Block& block = *blocks_[index / kBlock];
    const int32_t offset = block.offsets[index % kBlock];
    return offset == kOverflowOffset ? far_.at(index) : block.first_ns + offset;
  }

 private:
  static constexpr size_t kBlock = 1024;  // Launches of some ten milliseconds.
  static constexpr int32_t kOverflowOffset = std::numeric_limits<int32_t>::min();
  struct Block {
    int64_t first_ns;
    std::array<int32_t, kBlock> offsets;
  };
  std::vector<std::unique_ptr<Block>> blocks_;  // Blocks never move, so growing needs no second
                                                // copy.
  std::unordered_map<size_t, int64_t> far_;
  size_t size_ = 0;
};

}  // namespace

Status ScanActivities(RunDb& db, const std::function<bool(const ScannedActivity&)>& row) {
  // The columns that the view x_activity joins.
  struct Kind {
    int64_t lane_id, config_id, label_id;
  };
  XLATRACE_ASSIGN(const auto kinds,
                  (LoadDictionary<Kind>(
                      db, "SELECT kind_id, lane_id, config_id, label_id FROM x_kind ORDER BY 1",
                      [](const Statement& s) {
                        return Kind{s.Int64(1), s.Int64(2), s.OptionalInt64(3).value_or(0)};
                      })));
  struct Slot {
    int64_t execution_id;
    std::optional<int64_t> step;
  };
  XLATRACE_ASSIGN(
      const auto slots,
      (LoadDictionary<Slot>(db, "SELECT slot_id, execution_id, step FROM x_slot ORDER BY 1",
                            [](const Statement& s) {
                              return Slot{s.OptionalInt64(1).value_or(0), s.OptionalInt64(2)};
                            })));
  XLATRACE_ASSIGN(
      PackedScan rows,
      PackedScan::Open(db, {PackedColumn::kKind, PackedColumn::kSlot, PackedColumn::kStart,
                            PackedColumn::kDuration, PackedColumn::kNested}));
  ScannedActivity activity;
  while (true) {
    XLATRACE_ASSIGN(const bool more, rows.Next());
    if (!more) return {};
    const Kind* kind = EntryAt(kinds, rows.kind());
    const Slot* slot = EntryAt(slots, rows.slot());
    if (kind == nullptr || slot == nullptr) continue;
    activity.activity_id = rows.id();
    activity.lane_id = kind->lane_id;
    activity.config_id = kind->config_id;
    activity.label_id = kind->label_id;
    activity.timed = rows.timed();
    activity.start_ns = rows.placed() ? rows.start_ns() : 0;
    activity.duration_ns = rows.duration_ns();
    activity.self_ns = activity.timed ? rows.self_ns() : 0;
    activity.step = slot->step;
    activity.execution_id = slot->execution_id;
    if (!row(activity)) return {};
  }
}

Result<int64_t> LastCallId(RunDb& db) {
  int64_t last = 0;
  XLATRACE_TRY(
      db.ForEach("SELECT max(rowid) FROM x_packed_activity"
                 " UNION ALL SELECT max(api_call_id) FROM x_other_call",
                 [&](const Statement& row) {
                   last = std::max(last, row.OptionalInt64(0).value_or(0));
                   return true;
                 }));
  return last;
}

Status ScanCalls(RunDb& db, const std::function<bool(int64_t, int64_t)>& wanted,
                 const std::function<void(const ScannedCall&)>& row) {
  struct Kind {
    ScannedCall call;
    bool wanted;
  };
  XLATRACE_ASSIGN(
      const auto kinds,
      (LoadDictionary<Kind>(
          db, "SELECT kind_id, lane_id, config_id, label_id, graph_id FROM x_kind ORDER BY 1",
          [&](const Statement& s) {
            Kind kind{};
            kind.call.lane_id = s.Int64(1);
            kind.call.config_id = s.Int64(2);
            kind.call.label_id = s.OptionalInt64(3).value_or(0);
            kind.wanted = s.IsNull(4) && wanted(kind.call.label_id, kind.call.config_id);
            return kind;
          })));
  XLATRACE_ASSIGN(
      PackedScan rows,
      PackedScan::Open(db, {PackedColumn::kKind, PackedColumn::kStart, PackedColumn::kDuration,
                            PackedColumn::kNested, PackedColumn::kCallKind,
                            PackedColumn::kCallReference, PackedColumn::kCallDuration}));
  // For activities that share the call of another one.
  XLATRACE_ASSIGN(Statement shared, db.Prepare("SELECT start_ns, end_ns FROM api_call"
                                               " WHERE api_call_id = ?1"));
  while (true) {
    XLATRACE_ASSIGN(const bool more, rows.Next());
    if (!more) return {};
    const Kind* kind = EntryAt(kinds, rows.kind());
    if (kind == nullptr || !kind->wanted || !rows.placed() || !rows.has_call()) continue;
    ScannedCall call = kind->call;
    call.activity_id = rows.id();
    call.start_ns = rows.start_ns();
    if (rows.owns_call()) {
      call.call_start_ns = rows.call_start_ns();
      call.call_end_ns = rows.call_end_ns();
    } else {
      shared.Reset();
      shared.BindInt64(0, rows.call_id());
      XLATRACE_ASSIGN(const bool found, shared.Step());
      if (!found) continue;
      call.call_start_ns = shared.Int64(0);
      call.call_end_ns = shared.Int64(1);
    }
    row(call);
  }
}

Status ScanGaps(RunDb& db, const std::function<void(const ScannedGap&)>& row) {
  XLATRACE_ASSIGN(const auto devices,
                  (LoadDictionary<int64_t>(
                      db,
                      "SELECT k.kind_id, l.device_id FROM x_kind k JOIN x_lane l USING (lane_id)"
                      " ORDER BY 1",
                      [](const Statement& s) { return s.Int64(1); })));
  XLATRACE_ASSIGN(PackedScan rows,
                  PackedScan::Open(db, {PackedColumn::kKind, PackedColumn::kStart,
                                        PackedColumn::kDuration, PackedColumn::kGap}));
  // As in the view x_gap: a gap stores the distance in rows to the previous activity.
  EndTimes ends;
  std::vector<ScannedGap> early;  // Gaps whose previous activity has a later row.
  const auto give = [&](ScannedGap& gap) {
    if (gap.previous_activity_id < 1 || gap.previous_activity_id > ends.size()) return;
    gap.start_ns = ends.Of(gap.previous_activity_id);
    row(gap);
  };
  while (true) {
    XLATRACE_ASSIGN(const bool more, rows.Next());
    if (!more) break;
    const int64_t id = rows.id();
    // Rows are numbered from 1 without holes.
    if (id != ends.size() + 1) break;
    ends.Add(PackedScan::Plus(rows.start_ns(), rows.duration_ns()));
    const auto packed = rows.gap();
    if (!packed) continue;
    const int64_t* device = EntryAt(devices, rows.kind());
    if (device == nullptr) continue;
    ScannedGap gap;
    gap.device_id = *device;
    gap.end_ns = rows.start_ns();
    gap.cause = CauseOf(packed->cause);
    gap.previous_activity_id = PackedScan::Minus(id, packed->distance);
    gap.next_activity_id = id;
    if (gap.previous_activity_id > id) {
      early.push_back(gap);
    } else {
      give(gap);
    }
  }
  for (ScannedGap& gap : early) give(gap);
  return db.ForEach(
      "SELECT device_id, start_ns, end_ns, cause, previous_activity_id, next_activity_id,"
      " host_range_id FROM x_other_gap",
      [&](const Statement& s) {
        row({.device_id = s.Int64(0),
             .start_ns = s.Int64(1),
             .end_ns = s.Int64(2),
             .cause = CauseOf(s.Int64(3)),
             .previous_activity_id = s.Int64(4),
             .next_activity_id = s.Int64(5),
             .host_range_id = s.Int64(6)});
        return true;
      });
}

Status ScanGapEvidence(
    RunDb& db,
    const std::function<void(int64_t next_activity_id, std::string_view evidence)>& row) {
  return db.ForEach("SELECT next_activity_id, evidence FROM x_gap_evidence",
                    [&](const Statement& s) {
                      row(s.Int64(0), s.Text(1));
                      return true;
                    });
}

Result<std::vector<ScannedGraphLaunch>> ScanGraphLaunches(RunDb& db) {
  struct Kind {
    int64_t device_id, graph_id;
  };
  XLATRACE_ASSIGN(const auto kinds,
                  (LoadDictionary<Kind>(db,
                                        "SELECT k.kind_id, l.device_id, k.graph_id FROM x_kind k"
                                        " JOIN x_lane l USING (lane_id) ORDER BY 1",
                                        [](const Statement& s) {
                                          return Kind{s.Int64(1), s.OptionalInt64(2).value_or(0)};
                                        })));
  std::vector<ScannedGraphLaunch> launches;
  if (std::none_of(kinds.begin(), kinds.end(), [](const Kind& k) { return k.graph_id != 0; })) {
    return launches;
  }
  XLATRACE_ASSIGN(PackedScan rows,
                  PackedScan::Open(db, {PackedColumn::kKind, PackedColumn::kStart,
                                        PackedColumn::kDuration, PackedColumn::kCallKind,
                                        PackedColumn::kCallReference, PackedColumn::kCorrelation}));
  // Key: device, graph and call (as in the view x_activity). Without a call, the third part is a
  // negative number made from the correlation id.
  std::map<std::tuple<int64_t, int64_t, int64_t>, size_t> index;
  while (true) {
    XLATRACE_ASSIGN(const bool more, rows.Next());
    if (!more) return launches;
    const Kind* kind = EntryAt(kinds, rows.kind());
    if (kind == nullptr || kind->graph_id == 0 || !rows.timed()) continue;
    const int64_t correlation = rows.correlation_id().value_or(0);
    if (!rows.has_call() && correlation == 0) continue;
    const int64_t call = rows.has_call() ? rows.call_id() : ~correlation;
    const auto [at, added] =
        index.try_emplace({kind->device_id, kind->graph_id, call}, launches.size());
    const int64_t start = rows.start_ns();
    const int64_t end = PackedScan::Plus(start, rows.duration_ns());
    if (added) {
      launches.push_back({kind->device_id, kind->graph_id, start, end, 1});
      continue;
    }
    ScannedGraphLaunch& launch = launches[at->second];
    launch.start_ns = std::min(launch.start_ns, start);
    launch.end_ns = std::max(launch.end_ns, end);
    ++launch.activities;
  }
}

Result<Table> ScanLanes(RunDb& db) {
  return db.Select("SELECT lane_id, device_id, stream_id FROM x_lane");
}

Result<PackedTable> ScanConfigs(RunDb& db) {
  return PackedTable::Load(
      db,
      fmt::format(
          "SELECT c.config_id, c.name_id, {} AS kind, CASE WHEN c.kind = 1 THEN {} END"
          " AS copy_kind,"
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
          " (SELECT min(device_id) FROM x_occupancy o WHERE o.config_id = c.config_id)",
          ConfigWord<model::ActivityKind>("c.kind"), ConfigWord<model::CopyKind>("c.copy_kind")));
}

Result<std::vector<model::ActivityKind>> ScanConfigKinds(RunDb& db) {
  return LoadDictionary<model::ActivityKind>(
      db, "SELECT config_id, kind FROM x_config ORDER BY 1",
      [](const Statement& s) { return static_cast<model::ActivityKind>(s.Int64(1)); });
}

Status ScanConfigNames(RunDb& db, const std::function<bool(const ScannedNames&)>& row) {
  return db.ForEach(
      "SELECT c.config_id, n.text, k.text FROM x_config c"
      " LEFT JOIN x_string n ON n.string_id = c.name_id"
      " LEFT JOIN x_string k ON k.string_id = c.symbol_id",
      [&](const Statement& statement) {
        const auto text = [&](int column) {
          return statement.IsNull(column) ? std::string_view() : statement.Text(column);
        };
        return row({statement.Int64(0), text(1), text(2)});
      });
}

Result<Table> ScanLabels(RunDb& db) {
  XLATRACE_ASSIGN(Table table,
                  db.Select("SELECT b.label_id, b.module_id, i.name AS instruction,"
                            " nullif(b.evidence, 0) AS evidence, b.confidence,"
                            " CASE WHEN b.instruction_id IS NULL THEN coalesce(b.reason, 0) END"
                            " AS unattributed_reason, b.origin, b.losers AS losing_evidence"
                            " FROM x_label b"
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
