// SPDX-License-Identifier: Apache-2.0
#include "analysis/time_tree/waits.h"

#include <algorithm>
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
    const bool paired =
        devices.size() > 1 && std::all_of(devices.begin(), devices.end(), [&](const auto& runs) {
          return runs.size() == devices[0].size();
        });
    if (!paired) continue;
    for (size_t k = 0; k < devices[0].size(); ++k) {
      std::vector<uint32_t> members;
      for (const std::vector<uint32_t>& runs : devices) members.push_back(runs[k]);
      AddExchange(run, members, waits);
    }
  }
  return waits;
}

std::string PlaceOf(const model::RunTables& run, uint32_t activity) {
  const model::Device& device = run.DeviceOf(activity);
  const model::Process& process = run.processes[static_cast<size_t>(device.process_id) - 1];
  if (run.processes.size() > 1 && process.rank) return "rank " + std::to_string(*process.rank);
  return "device " + std::to_string(device.ordinal);
}

}  // namespace xlatrace::analysis::time_tree
