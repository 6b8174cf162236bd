// SPDX-License-Identifier: Apache-2.0
#include "analysis/findings/longest_launch.h"

#include <map>
#include <utility>

#include "analysis/intervals.h"

namespace xlatrace::analysis::findings {

LongestLaunches::LongestLaunches(const Context& context)
    : context_(context),
      activity_(context.ops.size(), 0),
      beside_ns_(context.ops.size(), 0),
      all_ns_(context.ops.size(), 0) {
  std::map<model::Id, Intervals> collectives;
  const model::ActivityColumns& activities = context.run.activities;
  for (const model::CollectiveRow& row : context.analysis.collectives) {
    const auto i = static_cast<size_t>(row.activity_id) - 1;
    collectives[context.run.LaneOf(i).device_id].push_back(
        {activities.start_ns[i], activities.end_ns(i)});
  }
  for (auto& [device, set] : collectives) set = Normalise(std::move(set));
  for (size_t i = 0; i < activities.size(); ++i) {
    if (!context.InBasis(i)) continue;
    const Op* op = context.OpOf(i);
    if (op == nullptr) continue;
    const size_t at = IndexOf(*op);
    if (activity_[at] == 0 ||
        activities.duration_ns[i] > activities.duration_ns[activity_[at] - 1]) {
      activity_[at] = i + 1;
    }
    all_ns_[at] += activities.duration_ns[i];
    if (collectives.empty()) continue;
    const auto set = collectives.find(context.run.LaneOf(i).device_id);
    if (set == collectives.end()) continue;
    beside_ns_[at] += Overlap(set->second, {activities.start_ns[i], activities.end_ns(i)});
  }
}

const model::LaunchConfig* LongestLaunches::ConfigOf(const Op& op) const {
  const size_t activity = activity_[IndexOf(op)];
  return activity == 0 ? nullptr : &context_.run.ConfigOf(activity - 1);
}

const model::OccupancyRow* LongestLaunches::OccupancyOf(const Op& op) const {
  const size_t activity = activity_[IndexOf(op)];
  if (activity == 0) return nullptr;
  const model::Id config = context_.run.activities.config[activity - 1];
  const model::Id device = context_.run.LaneOf(activity - 1).device_id;
  for (const model::OccupancyRow& row : context_.analysis.occupancies) {
    if (row.config_id == config && row.device_id == device) return &row;
  }
  return nullptr;
}

bool LongestLaunches::IsLibrary(const Op& op) const {
  const size_t activity = activity_[IndexOf(op)];
  if (activity == 0) return false;
  const auto label = context_.attribution.label_of[activity - 1];
  return context_.attribution.labels[label - 1].origin == model::Origin::kXlaLibrary;
}

double LongestLaunches::ShareBesideCollectives(const Op& op) const {
  const size_t at = IndexOf(op);
  if (all_ns_[at] <= 0) return 0;
  return static_cast<double>(beside_ns_[at]) / static_cast<double>(all_ns_[at]);
}

}  // namespace xlatrace::analysis::findings
