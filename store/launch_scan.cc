#include "store/launch_scan.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "store/full_scan.h"

namespace xlatrace::store {
namespace {

// Values of a file may be anything; a sum that does not fit wraps and means nothing.
int64_t Plus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t Minus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

Result<FullScan> Scan(RunDb& db, const std::string& table,
                      const std::vector<std::string>& columns) {
  const std::string sql =
      fmt::format("SELECT {} FROM {} ORDER BY rowid", fmt::join(columns, ", "), table);
  return FullScan::Open(db.path(), table, columns, sql,
                        [&](std::string_view text) { return db.Prepare(text); });
}

struct Kind {
  int64_t lane_id, config_id, label_id;
  std::optional<int64_t> bytes, graph_id, graph_node_id;
};
struct Slot {
  int64_t execution_id;
  std::optional<int64_t> step;
};

// Entry `id` of a dictionary that counts from 1.
template <typename Entry>
const Entry* Find(const std::vector<Entry>& entries, int64_t id) {
  const bool known = id >= 1 && static_cast<uint64_t>(id) <= entries.size();
  return known ? &entries[static_cast<size_t>(id) - 1] : nullptr;
}

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
  XLATRACE_ASSIGN(FullScan rows,
                  Scan(db, "x_packed_activity",
                       {"rowid", "kind_id", "slot_id", "start_ns", "duration_ns", "correlation_id",
                        "call_kind", "call_reference", "call_duration_ns", "nested_ns"}));
  ScannedLaunch launch;
  while (true) {
    XLATRACE_ASSIGN(const bool more, rows.Next());
    if (!more) return {};
    const Kind* kind = Find(kinds, rows.Int64(1));
    const Slot* slot = Find(slots, rows.Int64(2));
    if (kind == nullptr || slot == nullptr) continue;
    launch.activity_id = rows.Int64(0);
    launch.lane_id = kind->lane_id;
    launch.config_id = kind->config_id;
    launch.label_id = kind->label_id;
    launch.bytes = kind->bytes;
    launch.graph_id = kind->graph_id;
    launch.graph_node_id = kind->graph_node_id;
    launch.execution_id = slot->execution_id;
    launch.step = slot->step;
    launch.timed = !rows.IsNull(4);
    launch.placed = launch.timed || !rows.IsNull(9);
    const int64_t start = rows.Int64(3);
    launch.start_ns = launch.placed ? start : 0;
    launch.duration_ns = rows.Int64(4);
    launch.self_ns = launch.timed ? Minus(launch.duration_ns, rows.Int64(9)) : 0;
    launch.correlation_id = rows.OptionalInt64(5);
    launch.call_kind = rows.Int64(6);
    launch.api_call_id = 0;
    launch.call_start_ns = launch.call_end_ns = 0;
    if (!rows.IsNull(6)) {
      launch.api_call_id = launch.activity_id;
      launch.call_start_ns = Minus(start, rows.Int64(7));
      launch.call_end_ns = Plus(launch.call_start_ns, rows.Int64(8));
    } else if (!rows.IsNull(7)) {
      launch.api_call_id = Minus(launch.activity_id, rows.Int64(7));
    }
    if (!row(launch)) return {};
  }
}

Status ScanOtherCalls(RunDb& db, const std::function<void(const ScannedOtherCall&)>& row) {
  return db.ForEach(
      "SELECT api_call_id, call_kind, correlation_id, start_ns, duration_ns FROM x_other_call",
      [&](const Statement& s) {
        row({s.Int64(0), s.Int64(1), s.OptionalInt64(2), s.Int64(3), Plus(s.Int64(3), s.Int64(4))});
        return true;
      });
}

Status ScanRanges(RunDb& db, const std::function<bool(const ScannedRange&)>& row) {
  XLATRACE_ASSIGN(FullScan rows,
                  Scan(db, "x_packed_range", {"range_kind", "start_ns", "duration_ns", "depth"}));
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

Result<int64_t> CountLaunches(RunDb& db) {
  // Numbered without holes.
  XLATRACE_ASSIGN(const Table table,
                  db.Select("SELECT coalesce((SELECT max(rowid) FROM x_packed_activity), 0)"
                            " AS launches"));
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
