// SPDX-License-Identifier: Apache-2.0
#include "fleet/rank_reader.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "store/activity_scan.h"

namespace xlatrace::fleet {
namespace {

using store::RunDb;
using store::Statement;
using store::Table;

enum class Work : uint8_t { kOther, kGemm, kCollective, kCopy };

constexpr std::string_view kCollectiveRows =
    " FROM collective c JOIN activity a USING (activity_id) JOIN module m USING (module_id)"
    " WHERE a.step IS NOT NULL AND a.instruction IS NOT NULL AND a.duration_ns IS NOT NULL"
    " ORDER BY a.start_ns, a.activity_id";

std::optional<int64_t> Maybe(const Statement& row, int column) {
  return row.IsNull(column) ? std::nullopt : std::optional<int64_t>(row.Int64(column));
}
std::string TextIn(const Statement& row, int column) {
  return row.IsNull(column) ? std::string() : std::string(row.Text(column));
}

// Kind of work of each label.
Result<std::vector<Work>> WorkOfLabels(RunDb& db) {
  std::map<std::pair<int64_t, std::string>, Work> of_instruction;
  XLATRACE_TRY(db.ForEach(
      "SELECT module_id, instruction, op_kind FROM instruction WHERE op_kind IN"
      " ('gemm', 'convolution', 'collective', 'copy', 'memset')",
      [&](const Statement& row) {
        const std::string_view kind = row.Text(2);
        const bool copies = kind == "copy" || kind == "memset";
        of_instruction[{row.Int64(0), std::string(row.Text(1))}] = kind == "collective"
                                                                       ? Work::kCollective
                                                                   : copies ? Work::kCopy
                                                                            : Work::kGemm;
        return true;
      }));
  XLATRACE_ASSIGN(const Table labels, store::ScanLabels(db));
  std::vector<Work> works;
  for (size_t i = 0; i < labels.rows.size(); ++i) {
    const auto id = static_cast<size_t>(labels.Int(i, "label_id"));
    if (works.size() <= id) works.resize(id + 1, Work::kOther);
    if (labels.IsNull(i, "module_id") || labels.IsNull(i, "instruction")) continue;
    const auto at = of_instruction.find(
        {labels.Int(i, "module_id"), std::string(labels.Text(i, "instruction"))});
    if (at != of_instruction.end()) works[id] = at->second;
  }
  return works;
}

using ByDevice = std::unordered_map<int64_t, RankTimes>;

// Ends of a device's collectives, to test which of them overlap computation.
class Ends {
 public:
  void Add(int64_t start_ns, int64_t end_ns, size_t position) {
    const int64_t duration_ns = end_ns - start_ns;
    ends_.push_back({end_ns - std::min(kGapOfKernelsNs, duration_ns / 2), end_ns, position});
  }
  void Sort() {
    std::sort(ends_.begin(), ends_.end(),
              [](const End& a, const End& b) { return a.end_ns < b.end_ns; });
  }
  // Activities arrive in about the order of time, so the position moves little.
  void Computed(int64_t start_ns, int64_t end_ns, std::vector<bool>& waited) {
    while (place_ > 0 && ends_[place_ - 1].end_ns > start_ns) --place_;
    while (place_ < ends_.size() && ends_[place_].end_ns <= start_ns) ++place_;
    for (size_t at = place_; at < ends_.size() && ends_[at].nearly_ns < end_ns; ++at) {
      waited[ends_[at].position] = false;
    }
  }

 private:
  struct End {
    int64_t nearly_ns, end_ns;
    size_t position;
  };
  std::vector<End> ends_;
  size_t place_ = 0;  // First collective that ends after the last computation began.
};

Result<std::unordered_map<int64_t, Ends>> EndsByDevice(RunDb& db, std::vector<bool>& waited) {
  std::unordered_map<int64_t, Ends> by_device;
  XLATRACE_TRY(db.ForEach("SELECT a.device_id, a.start_ns, a.end_ns" + std::string(kCollectiveRows),
                          [&](const Statement& row) {
                            by_device[row.Int64(0)].Add(row.Int64(1), row.Int64(2), waited.size());
                            waited.push_back(true);
                            return true;
                          }));
  for (auto& [device, ends] : by_device) ends.Sort();
  return by_device;
}

Status AddActivities(RunDb& db, ByDevice& ranks, std::vector<bool>& waited) {
  XLATRACE_ASSIGN(const std::vector<Work> works, WorkOfLabels(db));
  XLATRACE_ASSIGN(const Table lanes, store::ScanLanes(db));
  XLATRACE_ASSIGN(auto ends, EndsByDevice(db, waited));
  XLATRACE_ASSIGN(const auto kinds, store::ScanConfigKinds(db));
  struct Lane {
    RankTimes* rank;
    Ends* ends;  // Null: there are no collectives.
  };
  std::unordered_map<int64_t, Lane> of_lane;
  for (size_t i = 0; i < lanes.rows.size(); ++i) {
    const auto at = ranks.find(lanes.Int(i, "device_id"));
    if (at == ranks.end()) continue;
    const auto of_device = ends.find(at->first);
    of_lane[lanes.Int(i, "lane_id")] = {&at->second,
                                        of_device == ends.end() ? nullptr : &of_device->second};
  }
  const auto copies = [&](int64_t config) {
    const auto at = static_cast<size_t>(config) - 1;
    return at < kinds.size() &&
           (kinds[at] == model::ActivityKind::kMemcpy || kinds[at] == model::ActivityKind::kMemset);
  };
  return store::ScanActivities(db, [&](const store::ScannedActivity& activity) {
    const auto lane = of_lane.find(activity.lane_id);
    if (lane == of_lane.end()) return true;
    RankTimes& rank = *lane->second.rank;
    ++rank.activities;
    rank.device_ns += activity.self_ns;
    const auto label = static_cast<size_t>(activity.label_id);
    const Work work = label < works.size() ? works[label] : Work::kOther;
    // An activity with nested activities computes only in these.
    if (lane->second.ends != nullptr && (work == Work::kOther || work == Work::kGemm) &&
        activity.timed && activity.self_ns >= activity.duration_ns && !copies(activity.config_id)) {
      lane->second.ends->Computed(activity.start_ns, activity.start_ns + activity.duration_ns,
                                  waited);
    }
    if (!activity.step) return true;
    const auto step = rank.steps.find(*activity.step);
    if (step == rank.steps.end()) return true;
    if (work == Work::kGemm) step->second.gemm_ns += activity.self_ns;
    if (work == Work::kOther || work == Work::kCopy) step->second.other_ns += activity.self_ns;
    return true;
  });
}

}  // namespace

Result<RunRanks> ReadRanks(RunDb& db) {
  RunRanks result;
  ByDevice ranks;
  XLATRACE_TRY(
      db.ForEach("SELECT d.device_id, d.process_id, d.ordinal, p.host, p.pid, p.rank, p.local_rank"
                 " FROM device d JOIN process p USING (process_id)",
                 [&](const Statement& row) {
                   RankTimes& rank = ranks[row.Int64(0)];
                   rank.device_id = row.Int64(0);
                   rank.process_id = row.Int64(1);
                   rank.ordinal = Maybe(row, 2).value_or(0);
                   rank.host = TextIn(row, 3);
                   rank.pid = Maybe(row, 4);
                   rank.rank = Maybe(row, 5);
                   rank.local_rank = Maybe(row, 6);
                   return true;
                 }));
  XLATRACE_TRY(db.ForEach("SELECT device_id, step, start_ns, end_ns, steady FROM step",
                          [&](const Statement& row) {
                            RankStepTimes& step = ranks[row.Int64(0)].steps[row.Int64(1)];
                            step.start_ns = row.Int64(2);
                            step.step_ns = row.Int64(3) - row.Int64(2);
                            step.steady = row.Int64(4) != 0;
                            return true;
                          }));
  XLATRACE_TRY(db.ForEach(
      "SELECT device_id, step, wall_ns FROM step_part WHERE part = 'idle' AND step IS NOT NULL",
      [&](const Statement& row) {
        ranks[row.Int64(0)].steps[row.Int64(1)].idle_ns += row.Int64(2);
        return true;
      }));
  XLATRACE_TRY(
      db.ForEach("SELECT DISTINCT e.device_id, coalesce(m.fingerprint, m.name) FROM execution e"
                 " JOIN module m USING (module_id) WHERE m.role = 'main' ORDER BY 1, 2",
                 [&](const Statement& row) {
                   std::string& program = ranks[row.Int64(0)].program;
                   program += (program.empty() ? "" : " ") + TextIn(row, 1);
                   return true;
                 }));
  XLATRACE_TRY(AddActivities(db, ranks, result.waited));
  std::map<std::pair<int64_t, int64_t>, RankTimes> in_order;
  for (auto& [device, rank] : ranks) {
    if (rank.activities > 0) in_order[{rank.process_id, device}] = std::move(rank);
  }
  for (auto& [place, rank] : in_order) result.ranks.push_back(std::move(rank));
  return result;
}

Status ReadCollectives(RunDb& db, const std::function<void(RankCollective&)>& give) {
  // Number of runs of an instruction in one step of one device so far. A program that was loaded
  // twice has two modules with one fingerprint.
  std::map<std::tuple<int64_t, int64_t, std::string, std::string>, int64_t> numbers;
  size_t position = 0;
  return db.ForEach(
      "SELECT a.device_id, a.step, coalesce(m.fingerprint, m.name), a.instruction, c.op,"
      " c.group_size, a.end_ns, a.duration_ns, c.exposed_ns,"
      " c.bytes, c.bus_bandwidth, c.arrival_skew_ns, a.stream_id" +
          std::string(kCollectiveRows),
      [&](const Statement& row) {
        RankCollective collective;
        collective.position = position++;
        collective.device_id = row.Int64(0);
        collective.key.step = row.Int64(1);
        collective.key.fingerprint = TextIn(row, 2);
        collective.key.instruction = TextIn(row, 3);
        collective.op = TextIn(row, 4);
        collective.group_size = Maybe(row, 5);
        collective.end_ns = row.Int64(6);
        collective.duration_ns = row.Int64(7);
        collective.exposed_ns = Maybe(row, 8).value_or(0);
        collective.bytes = Maybe(row, 9);
        collective.stream = Maybe(row, 12).value_or(0);
        // The bandwidth in the recording excludes known waiting time.
        collective.bus_bytes =
            static_cast<double>(Maybe(row, 10).value_or(0)) * 1e-9 *
            static_cast<double>(collective.duration_ns - Maybe(row, 11).value_or(0));
        collective.key.number = numbers[{collective.device_id, collective.key.step,
                                         collective.key.fingerprint, collective.key.instruction}]++;
        give(collective);
        return true;
      });
}

}  // namespace xlatrace::fleet
