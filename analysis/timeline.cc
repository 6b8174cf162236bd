// SPDX-License-Identifier: Apache-2.0
#include "analysis/timeline.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "base/nearly_sorted.h"

namespace xlatrace::analysis {
namespace {

using model::ActivityKind;
using model::OpKind;

// NCCL and RCCL name their kernels alike: ncclKernel_..., ncclDevKernel_... . Servers bring their
// own, for small messages.
bool IsCollectiveKernel(std::string_view symbol) {
  return symbol.starts_with("nccl") || symbol.find("multimem_all_reduce") != symbol.npos ||
         symbol.find("cross_device_reduce") != symbol.npos;
}

// AMD's runtime copies and fills with its own kernels.
bool IsRuntimeCopy(std::string_view symbol) { return symbol.starts_with("__amd_rocclr_"); }

// Class of an activity whose instruction is neither a collective nor a copy.
ActivityClass ClassOf(const model::LaunchConfig& config) {
  if (config.kind == ActivityKind::kMemcpy || config.kind == ActivityKind::kMemset) {
    return ActivityClass::kCopy;
  }
  if (IsRuntimeCopy(config.symbol)) return ActivityClass::kCopy;
  // Recorded mangled ("_Z22ncclDevKernel_SendRecv...") or not.
  if (IsCollectiveKernel(config.symbol) || IsCollectiveKernel(config.name)) {
    return ActivityClass::kCollective;
  }
  return ActivityClass::kCompute;
}

}  // namespace

std::vector<ActivityClass> ClassifyActivities(const model::RunTables& run,
                                              const model::AttributionTables& attribution) {
  const model::ActivityColumns& activities = run.activities;
  std::vector<ActivityClass> classes(activities.size());
  // Names are classified once per configuration, not once per launch.
  std::vector<ActivityClass> of_config;
  of_config.reserve(run.configs.size());
  for (const model::LaunchConfig& config : run.configs) of_config.push_back(ClassOf(config));
  for (size_t i = 0; i < activities.size(); ++i) {
    OpKind op_kind = OpKind::kOther;
    const model::Label& label = attribution.labels[attribution.label_of[i] - 1];
    if (label.instruction_id > 0) {
      op_kind = attribution.instructions[static_cast<size_t>(label.instruction_id) - 1].op_kind;
    }
    if (op_kind == OpKind::kCollective) {
      classes[i] = ActivityClass::kCollective;
    } else if (op_kind == OpKind::kCopy || op_kind == OpKind::kMemset) {
      classes[i] = ActivityClass::kCopy;
    } else {
      classes[i] = of_config[activities.config[i] - 1];
    }
  }
  return classes;
}

std::vector<std::vector<uint32_t>> ActivitiesByDevice(const model::RunTables& run) {
  const model::ActivityColumns& activities = run.activities;
  std::vector<std::vector<uint32_t>> by_device(run.devices.size());
  for (size_t i = 0; i < activities.size(); ++i) {
    if (!activities.timed(i)) continue;
    by_device[static_cast<size_t>(run.LaneOf(i).device_id) - 1].push_back(static_cast<uint32_t>(i));
  }
  const auto before = [&](uint32_t a, uint32_t b) {
    if (activities.start_ns[a] != activities.start_ns[b]) {
      return activities.start_ns[a] < activities.start_ns[b];
    }
    if (activities.duration_ns[a] != activities.duration_ns[b]) {
      return activities.duration_ns[a] > activities.duration_ns[b];
    }
    return a < b;
  };
  for (std::vector<uint32_t>& order : by_device) SortNearlySorted(order, before);
  return by_device;
}

void ForEachSegment(const model::RunTables& run, const std::vector<uint32_t>& order,
                    const std::function<void(const Segment&)>& visit) {
  const model::ActivityColumns& activities = run.activities;
  std::vector<std::vector<uint32_t>> open(run.lanes.size() + 1);  // By lane id; the owner last.
  std::vector<uint32_t> busy_lanes;
  std::vector<uint32_t> owners;
  size_t next = 0;
  int64_t now = 0;
  while (true) {
    if (busy_lanes.empty()) {
      if (next == order.size()) return;
      now = activities.start_ns[order[next]];
    }
    for (; next < order.size() && activities.start_ns[order[next]] <= now; ++next) {
      const uint32_t activity = order[next];
      if (activities.duration_ns[activity] <= 0) continue;
      const uint32_t lane = activities.lane[activity];
      if (open[lane].empty()) busy_lanes.push_back(lane);
      // By end; of equal ends the one that started last is inside the others.
      std::vector<uint32_t>& stack = open[lane];
      const bool is_range = run.ConfigOf(activity).kind == model::ActivityKind::kRange;
      const auto place = std::find_if(stack.rbegin(), stack.rend(), [&](uint32_t other) {
        return is_range || activities.end_ns(other) >= activities.end_ns(activity);
      });
      stack.insert(place.base(), activity);
    }
    if (busy_lanes.empty()) continue;
    int64_t until = next < order.size() ? activities.start_ns[order[next]] : INT64_MAX;
    owners.clear();
    for (const uint32_t lane : busy_lanes) {
      owners.push_back(open[lane].back());
      until = std::min(until, activities.end_ns(open[lane].back()));
    }
    visit({now, until, owners});
    now = until;
    std::erase_if(busy_lanes, [&](uint32_t lane) {
      std::vector<uint32_t>& stack = open[lane];
      while (!stack.empty() && activities.end_ns(stack.back()) <= now) stack.pop_back();
      return stack.empty();
    });
  }
}

}  // namespace xlatrace::analysis
