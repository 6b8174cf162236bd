#include "report/launch_wait.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace xlatrace::report {
namespace {

std::string List(const std::vector<int64_t>& ids) {
  std::string list;
  for (const int64_t id : ids)
    fmt::format_to(std::back_inserter(list), "{}{}", list.empty() ? "" : ",", id);
  return list;
}

int64_t Percentile(std::vector<int64_t>& values, size_t percent) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) * percent / 100);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

void ActivitySample::Add(int64_t activity_id) {
  if (seen_++ % every_ != 0) return;
  if (ids_.size() == kMost) {
    for (size_t i = 0; i < kMost / 2; ++i) ids_[i] = ids_[2 * i];
    ids_.resize(kMost / 2);
    every_ *= 2;
    if ((seen_ - 1) % every_ != 0) return;
  }
  ids_.push_back(activity_id);
}

Result<Json> LaunchWaits(store::RunDb& db, const ActivitySample& sample) {
  if (sample.ids().empty()) return Json();
  // Two look-ups by number: a join over the views would go through all calls of the run.
  XLATRACE_ASSIGN(
      const store::Table activities,
      db.Select(fmt::format("SELECT activity_id, device_id, start_ns, api_call_id FROM activity"
                            " WHERE activity_id IN ({}) AND api_call_id IS NOT NULL"
                            " AND graph_id IS NULL AND start_ns IS NOT NULL",
                            List(sample.ids()))));
  if (activities.rows.empty()) return Json();
  std::vector<int64_t> call_ids;
  for (size_t i = 0; i < activities.rows.size(); ++i) {
    call_ids.push_back(activities.Int(i, "api_call_id"));
  }
  XLATRACE_ASSIGN(const store::Table calls,
                  db.Select(fmt::format("SELECT api_call_id, start_ns, end_ns FROM api_call"
                                        " WHERE api_call_id IN ({})",
                                        List(call_ids))));
  std::unordered_map<int64_t, size_t> row_of;
  for (size_t i = 0; i < calls.rows.size(); ++i) row_of.emplace(calls.Int(i, "api_call_id"), i);
  std::vector<int64_t> call, latency, queued;
  int64_t skewed = 0;
  for (size_t i = 0; i < activities.rows.size(); ++i) {
    const auto row = row_of.find(call_ids[i]);
    if (row == row_of.end()) continue;
    const int64_t start = activities.Int(i, "start_ns");
    const int64_t called = calls.Int(row->second, "start_ns");
    const int64_t returned = calls.Int(row->second, "end_ns");
    call.push_back(std::max<int64_t>(returned - called, 0));
    latency.push_back(std::max<int64_t>(start - called, 0));
    queued.push_back(std::max<int64_t>(start - returned, 0));
    if (start < called) ++skewed;
  }
  const auto n = static_cast<int64_t>(call.size());
  if (n == 0 || 20 * skewed > n) return Json();
  Json waits{{"launches", n},
             {"call_p50_ns", Percentile(call, 50)},
             {"latency_p50_ns", Percentile(latency, 50)},
             {"latency_p90_ns", Percentile(latency, 90)},
             {"queued_p50_ns", Percentile(queued, 50)}};
  XLATRACE_ASSIGN(const Json queue,
                  Row(db, "SELECT outstanding_p50 FROM launch_queue WHERE device_id = ?1",
                      {activities.Int(0, "device_id")}));
  waits["outstanding_p50"] = queue.is_null() ? Json() : queue["outstanding_p50"];
  return waits;
}

}  // namespace xlatrace::report
