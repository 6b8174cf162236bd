// SPDX-License-Identifier: Apache-2.0
#include "correlator/loss_parts.h"

#include <algorithm>

namespace xlatrace::correlator {

LossParts::LossParts(const model::RunTables& run) : run_(run) {
  const auto of = [&](model::Id process_id) -> OfProcess& {
    const auto process = static_cast<size_t>(std::max<model::Id>(process_id, 0));
    if (process >= by_process_.size()) by_process_.resize(process + 1);
    any_ = true;
    return by_process_[process];
  };
  for (size_t w = 1; w < run.windows.size(); ++w) {
    const model::Window& before = run.windows[w - 1];
    const model::Window& window = run.windows[w];
    if (before.process_id != window.process_id) continue;
    if (before.why_ended == model::WindowEnd::kLoss) continue;
    of(window.process_id).ends_ns.push_back(window.start_ns);
  }
  for (const model::Loss& loss : run.losses) {
    OfProcess& process = of(loss.process_id);
    if (loss.correlation != 0) {
      process.correlations.push_back(loss.correlation);
    } else {
      process.holes.emplace_back(loss.start_ns, std::max(loss.start_ns, loss.end_ns));
    }
  }
  for (OfProcess& process : by_process_) {
    std::sort(process.correlations.begin(), process.correlations.end());
    std::sort(process.holes.begin(), process.holes.end());
    std::vector<std::pair<int64_t, int64_t>> apart;
    for (const auto& hole : process.holes) {
      if (!apart.empty() && hole.first <= apart.back().second) {
        apart.back().second = std::max(apart.back().second, hole.second);
      } else {
        apart.push_back(hole);
      }
    }
    process.holes = std::move(apart);
    for (const auto& hole : process.holes) process.ends_ns.push_back(hole.second);
    std::sort(process.ends_ns.begin(), process.ends_ns.end());
  }
}

const LossParts::OfProcess* LossParts::Of(size_t activity) const {
  if (!any_) return nullptr;
  const auto process = static_cast<size_t>(run_.DeviceOf(activity).process_id);
  return process < by_process_.size() ? &by_process_[process] : nullptr;
}

uint32_t LossParts::PartOf(size_t activity) const {
  const OfProcess* process = Of(activity);
  if (process == nullptr) return 0;
  const auto& ends = process->ends_ns;
  const auto& lost = process->correlations;
  const int64_t start = run_.activities.start_ns[activity];
  const auto by_time = std::upper_bound(ends.begin(), ends.end(), start) - ends.begin();
  const uint32_t correlation = run_.activities.correlation_of(activity);
  // A graph with a lost node is a separate part: before it, the graph, after it.
  const auto before = std::lower_bound(lost.begin(), lost.end(), correlation) - lost.begin();
  const auto up_to = std::upper_bound(lost.begin(), lost.end(), correlation) - lost.begin();
  return static_cast<uint32_t>(by_time + before + up_to);
}

bool LossParts::Lacks(size_t activity) const {
  const OfProcess* process = Of(activity);
  if (process == nullptr) return false;
  const uint32_t correlation = run_.activities.correlation_of(activity);
  if (correlation != 0 &&
      std::binary_search(process->correlations.begin(), process->correlations.end(), correlation)) {
    return true;
  }
  const int64_t start = run_.activities.start_ns[activity];
  const int64_t end = run_.activities.end_ns(activity);
  const auto after = std::upper_bound(
      process->holes.begin(), process->holes.end(), end,
      [](int64_t time, const std::pair<int64_t, int64_t>& hole) { return time < hole.first; });
  return after != process->holes.begin() && start <= (after - 1)->second;
}

}  // namespace xlatrace::correlator
