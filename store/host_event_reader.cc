#include "store/host_event_reader.h"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace xlatrace::store {
namespace {

using Interval = std::pair<int64_t, int64_t>;

bool OverlapsAny(const std::vector<Interval>& within, int64_t start, int64_t end) {
  // The first that ends after the event starts.
  const auto at = std::lower_bound(
      within.begin(), within.end(), start,
      [](const Interval& interval, int64_t time) { return interval.second <= time; });
  return at != within.end() && at->first < end;
}

Status ReadTable(Database& database, const std::vector<Interval>& within, bool ranges,
                 std::vector<model::HostEvent>& events) {
  XLATRACE_ASSIGN(
      Statement row,
      database.Prepare(ranges ? "SELECT range_id, process_id, thread_id, text_id, start_ns,"
                                " duration_ns FROM x_range"
                              : "SELECT 0, process_id, thread_id, name_id, start_ns, duration_ns"
                                " FROM x_api_call"));
  XLATRACE_ASSIGN(Statement text,
                  database.Prepare("SELECT text FROM x_string WHERE string_id = ?"));
  std::unordered_map<int64_t, std::string> names;
  while (true) {
    XLATRACE_ASSIGN(const bool more, row.Step());
    if (!more) return {};
    const int64_t start = row.Int64(4);
    const int64_t end = start + row.Int64(5);
    if (!OverlapsAny(within, start, end)) continue;
    const auto [name, is_new] = names.try_emplace(row.Int64(3));
    if (is_new) {
      text.Reset();
      text.BindInt64(0, name->first);
      XLATRACE_ASSIGN(const bool found, text.Step());
      if (found) name->second = text.Text(0);
    }
    events.push_back({.process_id = row.Int64(1),
                      .thread_id = row.Int64(2),
                      .name = name->second,
                      .start_ns = start,
                      .end_ns = end,
                      .range_id = row.Int64(0)});
  }
}

}  // namespace

Result<std::vector<model::HostEvent>> ReadHostEvents(Database& database,
                                                     const std::vector<Interval>& within) {
  std::vector<model::HostEvent> events;
  XLATRACE_TRY(ReadTable(database, within, false, events));
  XLATRACE_TRY(ReadTable(database, within, true, events));
  return events;
}

}  // namespace xlatrace::store
