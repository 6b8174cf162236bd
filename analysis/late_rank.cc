// SPDX-License-Identifier: Apache-2.0
#include "analysis/late_rank.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/robust.h"

namespace xlatrace::analysis {
namespace {

// Rate of false alarms: at most one of 300 jobs without a slow rank gets a late rank. There is one
// test per rank and kind of work, with Bonferroni's correction.
constexpr double kMaxFalseAlarmsPerJob = 1.0 / 300;

// One in twenty, the usual level of a single test: LongerWork limits the false alarms.
constexpr double kMaxLaterChance = 0.05;

const std::vector<double>& TimesOf(const RankWork& rank, LateWork work) {
  return work == LateWork::kKernels ? rank.kernel_ns : rank.host_ns;
}

std::vector<double> OthersThan(const std::vector<RankWork>& ranks, size_t rank, LateWork work) {
  std::vector<double> others;
  for (size_t r = 0; r < ranks.size(); ++r) {
    const std::vector<double>& times = TimesOf(ranks[r], work);
    if (r != rank) others.insert(others.end(), times.begin(), times.end());
  }
  return others;
}

// The own times of a rank exceed those of the others by more than chance explains.
bool IsLater(const std::vector<RankWork>& ranks, size_t rank) {
  std::vector<double> others;
  for (size_t r = 0; r < ranks.size(); ++r) {
    if (r != rank) others.insert(others.end(), ranks[r].own_ns.begin(), ranks[r].own_ns.end());
  }
  return RankSumProbability(ranks[rank].own_ns, others) <= kMaxLaterChance;
}

struct Longer {
  size_t rank = 0;
  LateWork work = LateWork::kKernels;
  double excess_ns = 0;       // The median.
  double mean_excess_ns = 0;  // The mean; larger if the rank is late in few steps.
};

double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// The kind of work of a rank that exceeds that of the others by the most.
std::optional<Longer> LongerWork(const std::vector<RankWork>& ranks, size_t rank) {
  std::optional<Longer> longer;
  const double limit = kMaxFalseAlarmsPerJob / static_cast<double>(2 * ranks.size());
  for (const LateWork work : {LateWork::kKernels, LateWork::kHost}) {
    const std::vector<double>& times = TimesOf(ranks[rank], work);
    const std::vector<double> others = OthersThan(ranks, rank, work);
    if (RankSumProbability(times, others) > limit) continue;
    const double excess_ns = LowerMedian(times) - LowerMedian(others);
    if (!longer || excess_ns > longer->excess_ns) {
      longer = {rank, work, excess_ns, Mean(times) - Mean(others)};
    }
  }
  return longer;
}

// Mean over steps of the time that the steps of all would be shorter without these ranks.
double CostOf(const std::vector<RankWork>& ranks, const std::vector<size_t>& late) {
  const size_t steps = ranks[0].own_ns.size();
  double sum = 0;
  for (size_t s = 0; s < steps; ++s) {
    double of_late = 0;
    double of_others = 0;
    for (size_t r = 0; r < ranks.size(); ++r) {
      const bool is_late = std::find(late.begin(), late.end(), r) != late.end();
      double& longest = is_late ? of_late : of_others;
      longest = std::max(longest, ranks[r].own_ns[s]);
    }
    sum += std::max(0.0, of_late - of_others);
  }
  return sum / static_cast<double>(steps);
}

}  // namespace

double RankSumProbability(const std::vector<double>& values, const std::vector<double>& others) {
  if (values.empty() || others.empty()) return 1;
  std::vector<double> sorted = others;
  std::sort(sorted.begin(), sorted.end());
  double u = 0;  // Pairs in which the value is larger; equal pairs count half.
  for (const double value : values) {
    const auto [low, high] = std::equal_range(sorted.begin(), sorted.end(), value);
    u += static_cast<double>(low - sorted.begin()) + 0.5 * static_cast<double>(high - low);
  }
  const auto n = static_cast<double>(values.size());
  const auto m = static_cast<double>(others.size());
  const double deviation = std::sqrt(n * m * (n + m + 1) / 12);
  return 0.5 * std::erfc((u - n * m / 2) / deviation / std::numbers::sqrt2);
}

std::optional<LateRanks> FindLateRanks(const std::vector<RankWork>& ranks, double min_cost_ns) {
  if (ranks.size() < 2 || ranks[0].own_ns.empty()) return std::nullopt;
  std::vector<Longer> longer;
  for (size_t r = 0; r < ranks.size(); ++r) {
    // Longer work is no cause if no rank waits for it, such as the host of a busy device.
    if (!IsLater(ranks, r)) continue;
    if (const auto found = LongerWork(ranks, r)) longer.push_back(*found);
  }
  if (longer.empty() || longer.size() == ranks.size()) return std::nullopt;
  const auto own = [&](const Longer& one) { return LowerMedian(ranks[one.rank].own_ns); };
  std::stable_sort(longer.begin(), longer.end(),
                   [&](const Longer& a, const Longer& b) { return own(a) > own(b); });
  LateRanks late{.work = longer[0].work, .excess_ns = longer[0].excess_ns};
  for (const Longer& one : longer) {
    // A rank joins the late ones if the steps are shorter without it, too.
    std::vector<size_t> with = late.ranks;
    with.push_back(one.rank);
    // If all ranks vary, steps are shorter without any of them. So the cost of a rank's work is
    // limited to its excess over the work of the others.
    const double cost_ns =
        std::min(CostOf(ranks, with), std::max(longer[0].excess_ns, longer[0].mean_excess_ns));
    if (!late.ranks.empty() && cost_ns < late.cost_ns + min_cost_ns) continue;
    late.ranks = std::move(with);
    late.cost_ns = cost_ns;
  }
  if (late.cost_ns < min_cost_ns) return std::nullopt;
  return late;
}

}  // namespace xlatrace::analysis
