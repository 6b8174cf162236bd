// SPDX-License-Identifier: Apache-2.0
#include "fleet/path_collector.h"

#include <algorithm>
#include <utility>

namespace xlatrace::fleet {

void PathCollector::Add(size_t rank, const RankCollective& collective,
                        const std::optional<Skew::Group>& group, bool stood_still) {
  OnPath& step = on_path_[{rank, collective.key.step}];
  if (!group) {
    step.untold_ns += collective.exposed_ns;
    return;
  }
  const bool last = group->last == rank;
  step.collectives.push_back(
      {.number = group->number,
       .stream = collective.stream,
       .start_ns = collective.end_ns - collective.duration_ns,
       .end_ns = collective.end_ns,
       .waited = collective.exposed_ns > 0 && stood_still,
       .last = last,
       .lead_ns = last && group->next_ns != INT64_MAX ? group->next_ns - group->transfer_ns : 0});
}

void PathCollector::EndRank(size_t rank, const RankTimes& times) {
  for (const auto& [number, step_times] : times.steps) {
    OnPath& step = on_path_[{rank, number}];
    path_.AddStep(rank,
                  {.number = number,
                   .start_ns = step_times.start_ns,
                   .end_ns = step_times.start_ns + step_times.step_ns,
                   .steady = step_times.steady,
                   .untold_ns = step.untold_ns},
                  std::move(step.collectives));
  }
  on_path_.erase(on_path_.lower_bound({rank, INT64_MIN}), on_path_.upper_bound({rank, INT64_MAX}));
}

void PathCollector::FillPath(const Skew& skew, Job& job) const {
  const auto missing = [](const model::RunStat& stat) { return stat.name == "rank_missing"; };
  if (std::any_of(job.said.begin(), job.said.end(), missing)) {
    job.path.why_not = "it may run through the ranks that are missing";
    return;
  }
  // On the common clock; ranks without one get no path.
  const auto end_of = [&](size_t r, int64_t number) -> std::optional<int64_t> {
    const Rank& rank = job.ranks[r];
    const auto step = rank.times.steps.find(number);
    if (step == rank.times.steps.end()) return std::nullopt;
    return ToCommon(
        job.clocks.clocks[rank.clock],
        job.sources[rank.source].start_unix_ns + step->second.start_ns + step->second.step_ns);
  };
  job.path = FindPath(path_, [&](int64_t number) {
    size_t last = 0;
    std::optional<int64_t> latest;
    for (size_t r = 0; r < job.ranks.size(); ++r) {
      const std::optional<int64_t> end = end_of(r, number);
      if (end && (!latest || *end > *latest)) {
        latest = end;
        last = r;
      }
    }
    return last;
  });
  if (job.path.why_not.empty() && job.clocks.sets > 1) {
    job.path = {.why_not = "not all ranks have a collective in common"};
  }
  for (const PathSegment& segment : job.path.segments) {
    for (const std::optional<uint32_t>& end : {segment.from, segment.to}) {
      if (end) job.on_path.try_emplace(*end);
    }
  }
  skew.ForEach([&](const CollectiveKey& key, const Skew::Group& group) {
    const auto end = job.on_path.find(group.number);
    if (end != job.on_path.end()) end->second = {key.fingerprint, key.instruction};
  });
}

}  // namespace xlatrace::fleet
