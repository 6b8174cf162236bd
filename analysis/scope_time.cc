// SPDX-License-Identifier: Apache-2.0
#include "analysis/scope_time.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <utility>

namespace xlatrace::analysis {
namespace {

struct PhaseSums {
  std::array<bool, kPhaseCount> seen{};
  std::array<int64_t, kPhaseCount> self_ns{};
  std::array<int64_t, kPhaseCount> estimated_ns{};
};

}  // namespace

SplitTimes BuildSplitTimes(const model::RunTables& run, const model::AttributionTables& attribution,
                           const TimeSplit& split,
                           const std::vector<std::optional<int32_t>>& step_of) {
  SplitTimes times;
  times.scopes = split.scopes();
  std::vector<bool> scope_seen(times.scopes.size(), false);
  std::map<std::pair<model::Id, std::optional<int32_t>>, PhaseSums> phases;

  // Neighbours mostly share device and step.
  std::pair<model::Id, std::optional<int32_t>> last_key;
  PhaseSums* last_sums = nullptr;
  for (size_t i = 0; i < run.activities.size(); ++i) {
    const uint32_t label = attribution.label_of[i];
    const bool estimated = split.Of(label).size() > 1;
    const std::pair key(run.LaneOf(i).device_id, step_of[i]);
    if (last_sums == nullptr || key != last_key) {
      last_sums = &phases[key];
      last_key = key;
    }
    PhaseSums& sums = *last_sums;
    split.Split(label, run.activities.self_ns[i], [&](const Piece& piece, int64_t ns) {
      model::ScopeTimeRow& scope = times.scopes[piece.scope];
      const auto phase = static_cast<size_t>(piece.phase);
      scope_seen[piece.scope] = true;
      sums.seen[phase] = true;
      scope.self_ns += ns;
      sums.self_ns[phase] += ns;
      if (estimated) {
        scope.estimated_ns += ns;
        sums.estimated_ns[phase] += ns;
      }
    });
  }

  std::vector<model::ScopeTimeRow> used;
  for (size_t scope = 0; scope < times.scopes.size(); ++scope) {
    if (scope_seen[scope]) used.push_back(std::move(times.scopes[scope]));
  }
  std::stable_sort(used.begin(), used.end(),
                   [](const model::ScopeTimeRow& a, const model::ScopeTimeRow& b) {
                     return a.self_ns > b.self_ns;
                   });
  times.scopes = std::move(used);

  for (const auto& [key, sums] : phases) {
    for (size_t phase = 0; phase < kPhaseCount; ++phase) {
      if (!sums.seen[phase]) continue;
      model::PhaseTimeRow row;
      row.device_id = key.first;
      if (key.second) row.step = *key.second;
      row.phase = static_cast<model::Phase>(phase);
      row.self_ns = sums.self_ns[phase];
      row.estimated_ns = sums.estimated_ns[phase];
      times.phases.push_back(row);
    }
  }
  return times;
}

}  // namespace xlatrace::analysis
