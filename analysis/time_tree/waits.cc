// SPDX-License-Identifier: Apache-2.0
#include "analysis/time_tree/waits.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

namespace xlatrace::analysis::time_tree {
namespace {

using model::Id;

// The members of one exchange, one per device.
void AddExchange(const model::RunTables& run, const std::vector<uint32_t>& members,
                 std::unordered_map<uint32_t, Wait>& waits) {
  const auto& durations = run.activities.duration_ns;
  const uint32_t last =
      *std::min_element(members.begin(), members.end(),
                        [&](uint32_t a, uint32_t b) { return durations[a] < durations[b]; });
  for (const uint32_t member : members) {
    waits[member] = {durations[member] - durations[last], last};
  }
}

// The recording of some devices begins earlier or ends later. All leave an exchange together, so
// that the ends of runs that belong together are equally far apart; clocks need not be equal.
size_t FirstRunOf(const model::RunTables& run, const std::vector<uint32_t>& least,
                  const std::vector<uint32_t>& runs) {
  size_t best = 0;
  double least_spread = -1;
  for (size_t shift = 0; shift + least.size() <= runs.size() && runs.size() > least.size();
       ++shift) {
    const auto apart = [&](size_t k) {
      return static_cast<double>(run.activities.end_ns(runs[k + shift]) -
                                 run.activities.end_ns(least[k]));
    };
    double mean = 0;
    for (size_t k = 0; k < least.size(); ++k) mean += apart(k);
    mean /= static_cast<double>(least.size());
    double spread = 0;
    for (size_t k = 0; k < least.size(); ++k) spread += std::abs(apart(k) - mean);
    if (least_spread >= 0 && spread >= least_spread) continue;
    least_spread = spread;
    best = shift;
  }
  return best;
}

}  // namespace

std::unordered_map<uint32_t, Wait> WaitsOf(const model::RunTables& run,
                                           const std::vector<ActivityClass>& classes,
                                           const std::vector<std::vector<uint32_t>>& by_device,
                                           const std::vector<model::CollectiveRow>& collectives) {
  std::unordered_map<uint32_t, Wait> waits;
  std::map<Id, std::vector<const model::CollectiveRow*>> groups;
  for (const model::CollectiveRow& row : collectives) {
    if (row.group_id && row.wait_ns) groups[*row.group_id].push_back(&row);
  }
  for (const auto& [id, rows] : groups) {
    const auto last = std::min_element(rows.begin(), rows.end(), [](const auto* a, const auto* b) {
      return *a->wait_ns < *b->wait_ns;
    });
    for (const model::CollectiveRow* row : rows) {
      waits[static_cast<uint32_t>(row->activity_id - 1)] = {
          *row->wait_ns, static_cast<uint32_t>((*last)->activity_id - 1)};
    }
  }
  std::map<std::string_view, std::vector<std::vector<uint32_t>>> by_name;  // Runs per device.
  for (const std::vector<uint32_t>& activities : by_device) {
    std::map<std::string_view, std::vector<uint32_t>> runs;
    for (const uint32_t i : activities) {
      if (classes[i] != ActivityClass::kCollective || waits.contains(i)) continue;
      runs[run.ConfigOf(i).symbol].push_back(i);
    }
    for (auto& [name, of_device] : runs) by_name[name].push_back(std::move(of_device));
  }
  for (const auto& [name, devices] : by_name) {
    if (devices.size() < 2) continue;
    const auto least =
        std::min_element(devices.begin(), devices.end(),
                         [](const auto& a, const auto& b) { return a.size() < b.size(); });
    // By device: the position of the run that belongs to the first run of `least`.
    std::vector<size_t> first;
    for (const std::vector<uint32_t>& runs : devices) {
      if (runs.size() > 2 * least->size()) break;  // Groups differ.
      first.push_back(FirstRunOf(run, *least, runs));
    }
    for (size_t k = 0; first.size() == devices.size() && k < least->size(); ++k) {
      std::vector<uint32_t> members;
      for (size_t d = 0; d < devices.size(); ++d) members.push_back(devices[d][first[d] + k]);
      AddExchange(run, members, waits);
    }
  }
  return waits;
}

std::vector<WaitedFor> WaitedForBy(const std::vector<DeviceWait>& waits) {
  std::map<int64_t, int64_t> change;  // Change of the number that waits, by time.
  for (const DeviceWait& wait : waits) {
    ++change[wait.start_ns];
    --change[wait.end_ns];
  }
  std::vector<WaitedFor> stretches;
  int64_t waiting = 0;
  int64_t since = 0;
  for (const auto& [time_ns, by] : change) {
    if (waiting > 0) stretches.push_back({since, time_ns, waiting});
    waiting += by;
    since = time_ns;
  }
  return stretches;
}

std::string PlaceOf(const model::RunTables& run, uint32_t activity) {
  const model::Device& device = run.DeviceOf(activity);
  const model::Process& process = run.processes[static_cast<size_t>(device.process_id) - 1];
  if (run.processes.size() > 1 && process.rank) return "rank " + std::to_string(*process.rank);
  return "device " + std::to_string(device.ordinal);
}

}  // namespace xlatrace::analysis::time_tree
