// SPDX-License-Identifier: Apache-2.0
#include "store/launch_scan.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "store/full_scan.h"
#include "store/packed_scan.h"

namespace xlatrace::store {
namespace {

struct Kind {
  int64_t lane_id, config_id, label_id;
  std::optional<int64_t> bytes, graph_id, graph_node_id;
};
struct Slot {
  int64_t execution_id;
  std::optional<int64_t> step;
};

}  // namespace

Status ScanLaunches(RunDb& db, const std::function<bool(const ScannedLaunch&)>& row) {
  std::vector<Kind> kinds;
  XLATRACE_TRY(db.ForEach(
      "SELECT kind_id, lane_id, config_id, label_id, bytes, graph_id, graph_node_id FROM x_kind"
      " ORDER BY 1",
      [&](const Statement& s) {
        if (s.Int64(0) != static_cast<int64_t>(kinds.size()) + 1) return false;
        kinds.push_back({s.Int64(1), s.Int64(2), s.OptionalInt64(3).value_or(0), s.OptionalInt64(4),
                         s.OptionalInt64(5), s.OptionalInt64(6)});
        return true;
      }));
  std::vector<Slot> slots;
  XLATRACE_TRY(db.ForEach("SELECT slot_id, execution_id, step FROM x_slot ORDER BY 1",
                          [&](const Statement& s) {
                            if (s.Int64(0) != static_cast<int64_t>(slots.size()) + 1) return false;
                            slots.push_back({s.OptionalInt64(1).value_or(0), s.OptionalInt64(2)});
                            return true;
                          }));
  using enum PackedColumn;
  XLATRACE_ASSIGN(PackedScan rows,
                  PackedScan::Open(db, {kKind, kSlot, kStart, kDuration, kCorrelation, kCallKind,
                                        kCallReference, kCallDuration, kNested}));
  ScannedLaunch launch;
  while (true) {
    XLATRACE_ASSIGN(const bool more, rows.Next());
    if (!more) return {};
    const Kind* kind = EntryAt(kinds, rows.kind());
    const Slot* slot = EntryAt(slots, rows.slot());
    if (kind == nullptr || slot == nullptr) continue;
    launch.activity_id = rows.id();
    launch.lane_id = kind->lane_id;
    launch.config_id = kind->config_id;
    launch.label_id = kind->label_id;
    launch.bytes = kind->bytes;
    launch.graph_id = kind->graph_id;
    launch.graph_node_id = kind->graph_node_id;
    launch.execution_id = slot->execution_id;
    launch.step = slot->step;
    launch.timed = rows.timed();
    launch.placed = rows.placed();
    launch.start_ns = launch.placed ? rows.start_ns() : 0;
    launch.duration_ns = rows.duration_ns();
    launch.self_ns = launch.timed ? rows.self_ns() : 0;
    launch.correlation_id = rows.correlation_id();
    launch.call_kind = rows.call_kind();
    launch.api_call_id = rows.has_call() ? rows.call_id() : 0;
    launch.call_start_ns = rows.owns_call() ? rows.call_start_ns() : 0;
    launch.call_end_ns = rows.owns_call() ? rows.call_end_ns() : 0;
    if (!row(launch)) return {};
  }
}

Status ScanOtherCalls(RunDb& db, const std::function<void(const ScannedOtherCall&)>& row) {
  return db.ForEach(
      "SELECT api_call_id, call_kind, correlation_id, start_ns, duration_ns FROM x_other_call",
      [&](const Statement& s) {
        row({s.Int64(0), s.Int64(1), s.OptionalInt64(2), s.Int64(3),
             PackedScan::Plus(s.Int64(3), s.Int64(4))});
        return true;
      });
}

Status ScanRanges(RunDb& db, const std::function<bool(const ScannedRange&)>& row) {
  XLATRACE_ASSIGN(
      FullScan rows,
      FullScan::Open(
          db.path(), "x_packed_range", {"range_kind", "start_ns", "duration_ns", "depth"},
          "SELECT range_kind, start_ns, duration_ns, depth FROM x_packed_range ORDER BY rowid",
          [&](std::string_view text) { return db.Prepare(text); }));
  while (true) {
    XLATRACE_ASSIGN(const bool more, rows.Next());
    if (!more) return {};
    if (!row({rows.Int64(0), rows.Int64(1), rows.Int64(2), rows.IsNull(3)})) return {};
  }
}

Result<Table> ScanCallKinds(RunDb& db) {
  return db.Select(
      "SELECT n.call_kind, n.process_id, n.thread_id, s.text AS name FROM x_call_kind n"
      " LEFT JOIN x_string s ON s.string_id = n.name_id");
}

Result<Table> ScanRangeKinds(RunDb& db) {
  return db.Select(
      "SELECT k.range_kind, k.process_id, k.thread_id, d.text AS domain, t.text"
      " FROM x_range_kind k LEFT JOIN x_string t ON t.string_id = k.text_id"
      " LEFT JOIN x_string d ON d.string_id = k.domain_id");
}

Status ScanRangeTexts(RunDb& db, const std::function<bool(const ScannedRangeText&)>& row) {
  return db.ForEach(
      "SELECT k.range_kind, k.process_id, k.thread_id, t.text FROM x_range_kind k"
      " JOIN x_string t ON t.string_id = k.text_id WHERE k.thread_id IS NOT NULL",
      [&](const Statement& s) {
        return row({s.Int64(0), s.Int64(1), s.Int64(2), s.Text(3)});
      });
}

Result<int64_t> CountLaunches(RunDb& db) {
  // Numbered without holes.
  XLATRACE_ASSIGN(
      const Table table,
      db.Select(fmt::format("SELECT coalesce((SELECT max(rowid) FROM {}), 0) AS launches",
                            kPackedActivity)));
  return table.rows.empty() ? 0 : table.Int(0, "launches");
}

Result<std::optional<int64_t>> FirstTime(RunDb& db) {
  std::optional<int64_t> first;
  const auto see = [&](int64_t time) {
    if (!first || time < *first) first = time;
  };
  XLATRACE_TRY(ScanLaunches(db, [&](const ScannedLaunch& launch) {
    if (launch.placed) see(launch.start_ns);
    if (launch.call_kind != 0) see(launch.call_start_ns);
    return true;
  }));
  XLATRACE_TRY(ScanOtherCalls(db, [&](const ScannedOtherCall& call) { see(call.start_ns); }));
  XLATRACE_TRY(ScanRanges(db, [&](const ScannedRange& range) {
    see(range.start_ns);
    return true;
  }));
  XLATRACE_ASSIGN(const Table rest,
                  db.Select("SELECT min(start_ns) AS first FROM (SELECT min(start_ns) AS start_ns"
                            " FROM x_execution UNION ALL SELECT min(start_ns) FROM x_step)"));
  if (!rest.rows.empty() && !rest.IsNull(0, "first")) see(rest.Int(0, "first"));
  return first;
}

}  // namespace xlatrace::store
