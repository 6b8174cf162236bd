// SPDX-License-Identifier: Apache-2.0
#include "fleet/job_answer.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/number_format.h"
#include "base/robust.h"
#include "fleet/culprit.h"

namespace xlatrace::fleet {
namespace {

// Exchange time of each instruction in each of its groups: the median over steps of the sum in a
// step.
std::vector<GroupTransfer> Transfers(const Skew& skew, const Pairing& pairing) {
  struct Sums {
    std::vector<size_t> ranks;
    std::map<int64_t, double> of_step;
  };
  std::map<std::tuple<std::string, std::string, int64_t>, Sums> sums;
  skew.ForEach([&](const CollectiveKey& key, const Skew::Group& group) {
    Sums& of = sums[{key.fingerprint, key.instruction, key.group}];
    if (of.ranks.empty()) of.ranks = pairing.RanksOf(key);
    // The shortest duration of a part of the ranks may contain waiting time.
    if (group.ranks < static_cast<int64_t>(of.ranks.size())) return;
    of.of_step[key.step] += static_cast<double>(group.transfer_ns);
  });
  std::vector<GroupTransfer> transfers;
  for (auto& [place, of] : sums) {
    std::vector<double> times;
    for (const auto& [step, sum] : of.of_step) times.push_back(sum);
    if (times.size() < kMinSteps) continue;
    transfers.push_back({.instruction = std::get<0>(place) + "::" + std::get<1>(place),
                         .ranks = std::move(of.ranks),
                         .transfer_ns = LowerMedian(std::move(times))});
  }
  return transfers;
}

// From the first to the last steady step of any rank.
JobTimes TimesOf(const Job& job, const Skew& skew, const Pairing& pairing) {
  JobTimes times;
  std::optional<int64_t> first, last;
  for (const Rank& rank : job.ranks) {
    for (const auto& [number, step] : rank.times.steps) {
      if (!step.steady) continue;
      first = std::min(first.value_or(number), number);
      last = std::max(last.value_or(number), number);
    }
    times.ranks.push_back({rank.name, rank.times.host, rank.times.program});
  }
  std::map<int64_t, size_t> ranks_with;
  for (const Rank& rank : job.ranks) {
    for (const auto& [number, step] : rank.times.steps) {
      const auto waited = rank.waited.find(number);
      const bool told = waited != rank.waited.end() && waited->second.told;
      if (first && number >= *first && number <= *last && told) ++ranks_with[number];
    }
  }
  for (const auto& [number, ranks] : ranks_with) {
    if (ranks * 2 >= job.ranks.size()) times.steps.push_back(number);
  }
  times.times.resize(times.ranks.size() * times.steps.size());
  for (size_t r = 0; r < job.ranks.size(); ++r) {
    const Rank& rank = job.ranks[r];
    for (size_t s = 0; s < times.steps.size(); ++s) {
      const auto step = rank.times.steps.find(times.steps[s]);
      const auto waited = rank.waited.find(times.steps[s]);
      if (step == rank.times.steps.end() || waited == rank.waited.end()) continue;
      if (!waited->second.told) continue;
      times.times[r * times.steps.size() + s] = {
          .known = true,
          .step_ns = static_cast<double>(step->second.step_ns),
          .wait_ns = static_cast<double>(waited->second.wait_ns + waited->second.elsewhere_ns),
          .gemm_ns = static_cast<double>(step->second.gemm_ns),
          .other_ns = static_cast<double>(step->second.other_ns),
          .gap_ns = static_cast<double>(step->second.idle_ns)};
    }
  }
  times.transfers = Transfers(skew, pairing);
  return times;
}

// Unknown waiting time would look like own time of a rank.
void HoldBack(int64_t unpaired_ns, std::string_view unpaired, Job& job) {
  CulpritAnswer& answer = job.answer;
  int64_t steps_ns = 0;
  for (const Rank& rank : job.ranks) {
    for (const auto& [number, step] : rank.times.steps) {
      if (step.steady) steps_ns += step.step_ns;
    }
  }
  const double share =
      steps_ns > 0 ? static_cast<double>(unpaired_ns) / static_cast<double>(steps_ns) : 0;
  if (share < kMinExcessShare || job.ranks.size() < 2) return;
  std::string why = fmt::format("{}, take {}% of the steps", unpaired, Percent(share, 1));
  if (answer.cause == Cause::kNoData) {
    answer.evidence.insert(answer.evidence.begin(), std::move(why));
    return;
  }
  CulpritAnswer held{.cause = Cause::kNoData, .step_ns = answer.step_ns};
  held.evidence.push_back(std::move(why));
  held.excess_ns = std::move(answer.excess_ns);
  answer = std::move(held);
}

}  // namespace

std::string UnpairedWords(int64_t largest_group, size_t ranks) {
  if (largest_group > static_cast<int64_t>(ranks)) {
    return fmt::format("collectives of {} ranks, of which {} {} here (merge the others, too)",
                       largest_group, ranks, ranks == 1 ? "is" : "are");
  }
  return "collectives of which it is not known who takes part, or not all ranks are here";
}

void AnswerJob(const Skew& skew, const Pairing& pairing, int64_t unpaired_ns,
               std::string_view unpaired, Job& job) {
  const JobTimes times = TimesOf(job, skew, pairing);
  job.answer = FindCulprit(times);
  HoldBack(unpaired_ns, unpaired, job);
  // Without a result, the lengths of the steps still show slow and fast ranks.
  std::vector<double> cost = job.answer.excess_ns;
  if (cost.size() != job.ranks.size()) {
    cost.clear();
    for (const Rank& rank : job.ranks) {
      std::vector<double> steps;
      for (const auto& [number, step] : rank.times.steps) {
        steps.push_back(static_cast<double>(step.gemm_ns + step.other_ns));
      }
      cost.push_back(LowerMedian(std::move(steps)));
    }
  }
  job.by_cost.resize(job.ranks.size());
  std::iota(job.by_cost.begin(), job.by_cost.end(), size_t{0});
  std::stable_sort(job.by_cost.begin(), job.by_cost.end(),
                   [&](size_t a, size_t b) { return cost[a] > cost[b]; });
}

}  // namespace xlatrace::fleet
