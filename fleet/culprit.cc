// SPDX-License-Identifier: Apache-2.0
#include "fleet/culprit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/number_format.h"
#include "base/robust.h"

namespace xlatrace::fleet {
namespace {

constexpr double kMinCauseShare = 0.6;      // A part with this share of the excess is its cause.
constexpr double kMinSlowGroupRatio = 1.2;  // Minimum ratio of the exchange time to the median of
                                            // other groups.
constexpr double kMaxOtherStretchShare = 0.25;  // "gemm only": other work is stretched by less than
                                                // this share of the stretch.
constexpr double kDataShare = 0.04;   // Minimum excess of the last rank over the median, as a share
                                      // of the step.
constexpr double kDataSteps = 0.5;    // Minimum share of steps.
constexpr double kOneOffShare = 0.3;  // Minimum excess of a single slow step.
constexpr double kOneOffSteps = 0.2;  // Maximum share of such steps.

double Own(const RankStep& at) { return at.step_ns - at.wait_ns; }

using Part = std::function<double(const RankStep&)>;

// Differences of one figure from the median of the ranks with the same program, step by step.
class Excess {
 public:
  Excess(const JobTimes& job, const Part& part)
      : ranks_(job.ranks.size()), steps_(job.steps.size()), of_(ranks_ * steps_, 0) {
    std::map<std::string, std::vector<size_t>> like;
    for (size_t r = 0; r < ranks_; ++r) like[job.ranks[r].program].push_back(r);
    for (const auto& [program, ranks] : like) {
      for (size_t s = 0; s < steps_; ++s) {
        std::vector<double> values;
        for (const size_t r : ranks) {
          if (job.At(r, s).known) values.push_back(part(job.At(r, s)));
        }
        const double middle = LowerMedian(std::move(values));
        for (const size_t r : ranks) {
          if (job.At(r, s).known) of_[r * steps_ + s] = part(job.At(r, s)) - middle;
        }
      }
    }
  }

  double At(size_t rank, size_t step) const { return of_[rank * steps_ + step]; }
  // Steps from `first` on.
  std::vector<double> Steps(size_t rank, size_t first) const {
    const auto begin = of_.begin() + static_cast<std::ptrdiff_t>(rank * steps_);
    return {begin + static_cast<std::ptrdiff_t>(first),
            begin + static_cast<std::ptrdiff_t>(steps_)};
  }
  // Median over the steps from `first` on.
  double Of(size_t rank, size_t first) const { return LowerMedian(Steps(rank, first)); }
  // Three quarters of those steps have at least this value.
  double Lasting(size_t rank, size_t first) const { return LowerQuartile(Steps(rank, first)); }

 private:
  size_t ranks_, steps_;
  std::vector<double> of_;
};

double MedianOver(const JobTimes& job, size_t first, const Part& part) {
  std::vector<double> values;
  for (size_t r = 0; r < job.ranks.size(); ++r) {
    for (size_t s = first; s < job.steps.size(); ++s) {
      if (job.At(r, s).known) values.push_back(part(job.At(r, s)));
    }
  }
  return LowerMedian(std::move(values));
}

std::string Count(size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

class Finder {
 public:
  explicit Finder(const JobTimes& job) : job_(job), own_(job, Own) {}

  CulpritAnswer Run() {
    CulpritAnswer& a = answer_;
    size_t known = 0;
    for (size_t r = 0; r < job_.ranks.size(); ++r) {
      for (size_t s = 0; s < job_.steps.size(); ++s) known += job_.At(r, s).known ? 1 : 0;
    }
    if (job_.ranks.size() < 2 || job_.steps.size() < kMinSteps || known * 2 < job_.times.size()) {
      a.cause = Cause::kNoData;
      a.evidence.push_back(
          job_.ranks.size() < 2 ? "the job has only one rank"
          : job_.steps.size() < kMinSteps
              ? fmt::format(
                    "waiting times are known in {}, and {} are needed",
                    job_.steps.empty() ? "no common step" : Count(job_.steps.size(), "common step"),
                    kMinSteps)
              : fmt::format("waiting times are known in {} of {} steps of ranks, and half of "
                            "them are needed",
                            known, job_.times.size()));
      return a;
    }
    step_ns_ = StepTime();
    a.step_ns = a.without_ns = step_ns_;
    for (size_t r = 0; r < job_.ranks.size(); ++r) a.excess_ns.push_back(own_.Of(r, 0));
    if (Program() || Link() || Persistent() || Data() || OneOff()) return a;
    a.evidence.push_back(fmt::format(
        "no rank needs more than {} longer than its like, step after step",
        Duration(std::max(0.0, *std::max_element(a.excess_ns.begin(), a.excess_ns.end())))));
    return a;
  }

 private:
  double StepTime() const {
    std::vector<double> steps;
    for (size_t s = 0; s < job_.steps.size(); ++s) steps.push_back(Slowest(s));
    return LowerMedian(std::move(steps));
  }
  double Slowest(size_t step) const {
    double longest = 0;
    for (size_t r = 0; r < job_.ranks.size(); ++r) {
      if (job_.At(r, step).known) longest = std::max(longest, job_.At(r, step).step_ns);
    }
    return longest;
  }

  double Threshold(const std::vector<double>& excess) const {
    return std::max(kMinExcessShare * step_ns_, kMinExcessSpreads * Spread(excess));
  }

  // The cost of some ranks in a step: the longest of them less the longest of all others.
  double CostIn(size_t step, const std::set<size_t>& slow) const {
    double of_slow = 0, of_others = 0;
    for (size_t r = 0; r < job_.ranks.size(); ++r) {
      if (!job_.At(r, step).known) continue;
      double& longest = slow.contains(r) ? of_slow : of_others;
      longest = std::max(longest, Own(job_.At(r, step)));
    }
    return of_others == 0 ? 0 : std::max(0.0, of_slow - of_others);
  }

  void Charge(const std::vector<size_t>& ranks, size_t first) {
    const std::set<size_t> slow(ranks.begin(), ranks.end());
    double sum = 0;
    for (size_t s = first; s < job_.steps.size(); ++s) sum += CostIn(s, slow);
    answer_.ranks = ranks;
    answer_.since_step = job_.steps[first];
    answer_.all_along = first == 0;
    answer_.cost_ns = sum / static_cast<double>(job_.steps.size() - first);
    answer_.without_ns = step_ns_ - answer_.cost_ns;
  }

  // Saving if the exchanges of each rank are shorter by this time. Other ranks may be in a slow
  // exchange, too, so the excess of the slowest rank is only a part of the saving.
  void ChargeExchanges(const std::vector<double>& longer_ns) {
    double sum = 0;
    for (size_t s = 0; s < job_.steps.size(); ++s) {
      double longest = 0, mended = 0;
      for (size_t r = 0; r < job_.ranks.size(); ++r) {
        if (!job_.At(r, s).known) continue;
        longest = std::max(longest, Own(job_.At(r, s)));
        mended = std::max(mended, Own(job_.At(r, s)) - longer_ns[r]);
      }
      sum += longest - mended;
    }
    answer_.cost_ns = sum / static_cast<double>(job_.steps.size());
    answer_.without_ns = step_ns_ - answer_.cost_ns;
  }

  // Ranks with a lasting excess, each from the step at which it begins; the worst first.
  std::vector<std::pair<double, size_t>> Slow() const {
    std::vector<double> excess, late;
    const size_t third = job_.steps.size() - std::max<size_t>(job_.steps.size() / 3, 3);
    for (size_t r = 0; r < job_.ranks.size(); ++r) {
      excess.push_back(own_.Of(r, 0));
      late.push_back(own_.Lasting(r, third));
    }
    const double threshold = Threshold(excess);
    const double late_threshold = Threshold(late);
    std::vector<std::pair<double, size_t>> slow;
    for (size_t r = 0; r < excess.size(); ++r) {
      if (excess[r] > threshold || late[r] > late_threshold) {
        slow.emplace_back(std::max(excess[r], late[r]), r);
      }
    }
    std::sort(slow.rbegin(), slow.rend());
    // Ranks far below the worst one are not responsible.
    while (slow.size() > 1 && slow.back().first < 0.5 * slow.front().first) slow.pop_back();
    return slow;
  }

  double WaitOfOthers(const std::vector<size_t>& ranks, size_t first) const {
    const std::set<size_t> slow(ranks.begin(), ranks.end());
    std::vector<double> waits;
    for (size_t r = 0; r < job_.ranks.size(); ++r) {
      for (size_t s = first; s < job_.steps.size() && !slow.contains(r); ++s) {
        if (job_.At(r, s).known) waits.push_back(job_.At(r, s).wait_ns);
      }
    }
    return LowerMedian(std::move(waits));
  }

  bool Persistent() {
    const auto slow = Slow();
    if (slow.empty() || slow.size() * 2 > job_.ranks.size()) return false;
    const size_t worst = slow.front().second;
    const size_t first = RiseOf(own_.Steps(worst, 0));
    std::vector<size_t> ranks;
    for (const auto& [excess, rank] : slow) ranks.push_back(rank);
    // If the other ranks do not wait, a slow rank costs nothing.
    if (WaitOfOthers(ranks, first) < 0.3 * own_.Of(worst, first)) return false;
    Charge(ranks, first);
    const Excess gemm(job_, [](const RankStep& at) { return at.gemm_ns; });
    const Excess other(job_, [](const RankStep& at) { return at.other_ns; });
    const Excess gap(job_, [](const RankStep& at) { return at.gap_ns; });
    const double own = own_.Of(worst, first);
    const double of_gemm = gemm.Of(worst, first);
    const double of_other = other.Of(worst, first);
    const double of_gap = gap.Of(worst, first);
    answer_.evidence.push_back(fmt::format(
        "{} needs {} a step more by itself than the median of its like (matrix products {}, other "
        "kernels {}, gaps {}), and {} more than the longest of the others: so much shorter a step "
        "would be without it",
        job_.ranks[worst].name, MillisecondsText(own), MillisecondsText(of_gemm),
        MillisecondsText(of_other), MillisecondsText(of_gap), MillisecondsText(answer_.cost_ns)));
    if (of_gap >= kMinCauseShare * own) {
      answer_.cause = Cause::kSlowHost;
      return true;
    }
    if (of_gemm + of_other < kMinCauseShare * own) {
      answer_.cause = Cause::kUnknown;
      return true;
    }
    answer_.cause = Cause::kSlowGpu;
    const double gemm_base = MedianOver(job_, first, [](const RankStep& at) { return at.gemm_ns; });
    const double other_base =
        MedianOver(job_, first, [](const RankStep& at) { return at.other_ns; });
    const double stretch_gemm = gemm_base > 0 ? of_gemm / gemm_base : 0;
    const double stretch_other = other_base > 0 ? of_other / other_base : 0;
    answer_.gpu = stretch_other < kMaxOtherStretchShare * stretch_gemm
                      ? GpuReason::kClocks
                      : GpuReason::kMemoryOrNeighbour;
    answer_.evidence.push_back(
        fmt::format("its matrix products take {} times as long as those of the median of its "
                    "like, its other kernels {} times",
                    Significant(1 + stretch_gemm), Significant(1 + stretch_other)));
    return true;
  }

  // Tests for ranks with other modules and more work than the others.
  bool Program() {
    std::map<std::string, std::vector<size_t>> programs;
    for (size_t r = 0; r < job_.ranks.size(); ++r) programs[job_.ranks[r].program].push_back(r);
    if (programs.size() < 2) return false;
    const double excess = *std::max_element(answer_.excess_ns.begin(), answer_.excess_ns.end());
    if (Stages(programs, excess)) return true;
    std::vector<std::pair<double, const std::vector<size_t>*>> times;
    for (const auto& [program, ranks] : programs) {
      std::vector<double> own;
      for (const size_t r : ranks) {
        std::vector<double> steps;
        for (size_t s = 0; s < job_.steps.size(); ++s) {
          if (job_.At(r, s).known) steps.push_back(Own(job_.At(r, s)));
        }
        own.push_back(LowerMedian(std::move(steps)));
      }
      times.emplace_back(LowerMedian(std::move(own)), &ranks);
    }
    std::sort(times.begin(), times.end(),
              [](const auto& a, const auto& b) { return a.first > b.first; });
    const double more = times[0].first - times[1].first;
    if (more < kMinExcessShare * step_ns_ || more < excess) return false;
    Charge(*times[0].second, 0);
    answer_.cause = Cause::kProgram;
    answer_.evidence.push_back(fmt::format(
        "{} of {} ranks run a program of their own that needs {} a step, the next one {}",
        times[0].second->size(), job_.ranks.size(), Duration(times[0].first),
        Duration(times[1].first)));
    return true;
  }

  // Stages of a pipeline wait in sends and receives, whose waiting time is not known. There, the
  // stage with the most computation is the one with the least idle time.
  bool Stages(const std::map<std::string, std::vector<size_t>>& programs, double excess) {
    struct Stage {
      double computes = 0, step = 0;
      const std::vector<size_t>* ranks = nullptr;
      double Stands() const { return step - computes; }
    };
    std::vector<Stage> stages;
    double mean = 0;
    for (const auto& [program, ranks] : programs) {
      std::vector<double> computes, steps;
      for (const size_t r : ranks) {
        for (size_t s = 0; s < job_.steps.size(); ++s) {
          if (!job_.At(r, s).known) continue;
          computes.push_back(job_.At(r, s).gemm_ns + job_.At(r, s).other_ns);
          steps.push_back(job_.At(r, s).step_ns);
        }
      }
      if (steps.empty()) return false;
      stages.push_back({LowerMedian(std::move(computes)), LowerMedian(std::move(steps)), &ranks});
      mean += stages.back().computes * static_cast<double>(ranks.size());
    }
    mean /= static_cast<double>(job_.ranks.size());
    const Stage longest =
        *std::max_element(stages.begin(), stages.end(),
                          [](const Stage& a, const Stage& b) { return a.computes < b.computes; });
    for (const Stage& stage : stages) {
      if (stage.ranks == longest.ranks) continue;
      const double more = longest.computes - stage.computes;
      if (more < kMinExcessShare * step_ns_ || more < excess) return false;
      if (stage.Stands() - longest.Stands() < 0.5 * more) return false;
    }
    answer_.cause = Cause::kProgram;
    answer_.ranks = *longest.ranks;
    answer_.since_step = job_.steps.front();
    answer_.cost_ns = longest.computes - mean;
    answer_.without_ns = step_ns_ - answer_.cost_ns;
    for (const Stage& stage : stages) {
      answer_.evidence.push_back(
          fmt::format("{} with {}: {} of its own, {} of a {} step idle or exchanging ({}%)",
                      Count(stage.ranks->size(), "rank"), job_.ranks[stage.ranks->front()].name,
                      Duration(stage.computes), Duration(stage.Stands()), Duration(stage.step),
                      Percent(stage.Stands(), stage.step)));
    }
    answer_.evidence.push_back("without it: the same computation spread evenly over all ranks");
    return true;
  }

  // Tests for instructions with slow groups, and a host that only these groups share.
  bool Link() {
    std::map<std::string, std::vector<const GroupTransfer*>> of_instruction;
    for (const GroupTransfer& group : job_.transfers) {
      of_instruction[group.instruction].push_back(&group);
    }
    std::map<std::string, int> slow_hosts, fast_hosts;
    std::vector<double> longer(job_.ranks.size(), 0);
    double most = 0;
    for (const auto& [instruction, groups] : of_instruction) {
      if (groups.size() < 3) continue;
      std::vector<double> times;
      for (const GroupTransfer* group : groups) times.push_back(group->transfer_ns);
      const double middle = LowerMedian(times);
      const double limit =
          std::max(kMinSlowGroupRatio * middle, middle + kMinExcessSpreads * Spread(times));
      for (const GroupTransfer* group : groups) {
        const bool slow = group->transfer_ns > limit;
        std::set<std::string> hosts;
        for (const size_t r : group->ranks) {
          hosts.insert(job_.ranks[r].host);
          if (slow) longer[r] += group->transfer_ns - middle;
          most = std::max(most, longer[r]);
        }
        for (const std::string& host : hosts) ++(slow ? slow_hosts : fast_hosts)[host];
      }
    }
    if (most < kMinExcessShare * step_ns_ / 2) return false;
    // The slow exchange must explain the excess.
    const double excess = *std::max_element(answer_.excess_ns.begin(), answer_.excess_ns.end());
    if (most < 0.5 * excess) return false;
    std::vector<size_t> ranks;
    for (size_t r = 0; r < longer.size(); ++r) {
      if (longer[r] > 0.6 * most) ranks.push_back(r);
    }
    Charge(ranks, 0);
    ChargeExchanges(longer);
    answer_.cause = Cause::kLink;
    std::string hosts;
    for (const auto& [host, times] : slow_hosts) {
      if (!host.empty() && !fast_hosts.contains(host)) hosts += (hosts.empty() ? "" : ", ") + host;
    }
    answer_.evidence.push_back(fmt::format(
        "exchanges of {} ranks take up to {} a step longer than those of other groups{}",
        ranks.size(), Duration(most), hosts.empty() ? "" : "; only they have " + hosts));
    return true;
  }

  // Tests for another slow rank in every step, with longer computation.
  bool Data() {
    const Excess kernels(job_, [](const RankStep& at) { return at.gemm_ns + at.other_ns; });
    std::map<size_t, int> last;
    std::vector<double> costs;
    double sum = 0;
    int by_kernels = 0;
    for (size_t s = 0; s < job_.steps.size(); ++s) {
      size_t worst = 0;
      for (size_t r = 1; r < job_.ranks.size(); ++r) {
        if (own_.At(r, s) > own_.At(worst, s)) worst = r;
      }
      const double cost = own_.At(worst, s);
      costs.push_back(cost);
      sum += cost;
      if (cost < kDataShare * step_ns_) continue;
      if (kernels.At(worst, s) < kMinCauseShare * cost) continue;
      ++by_kernels;
      ++last[worst];
    }
    const auto steps = static_cast<double>(job_.steps.size());
    if (by_kernels < kDataSteps * steps) return false;
    answer_.cause = Cause::kData;
    answer_.since_step = job_.steps.front();
    answer_.cost_ns = sum / steps;
    answer_.without_ns = step_ns_ - answer_.cost_ns;
    answer_.evidence.push_back(fmt::format(
        "in {} of {} steps one rank computes longer than the others, {} different ranks in turn",
        by_kernels, job_.steps.size(), last.size()));
    return true;
  }

  bool OneOff() {
    std::vector<size_t> long_steps;
    double cost = 0;
    for (size_t s = 0; s < job_.steps.size(); ++s) {
      if (Slowest(s) - step_ns_ < kOneOffShare * step_ns_) continue;
      long_steps.push_back(s);
      cost += Slowest(s) - step_ns_;
    }
    if (long_steps.empty() ||
        static_cast<double>(long_steps.size()) >
            std::max(1.0, kOneOffSteps * static_cast<double>(job_.steps.size()))) {
      return false;
    }
    CulpritAnswer& a = answer_;
    a.cause = Cause::kOneOff;
    a.cost_ns = cost / static_cast<double>(job_.steps.size());
    a.since_step = job_.steps[long_steps.front()];
    const size_t worst_step =
        *std::max_element(long_steps.begin(), long_steps.end(),
                          [&](size_t x, size_t y) { return Slowest(x) < Slowest(y); });
    size_t worst = 0;
    for (size_t r = 1; r < job_.ranks.size(); ++r) {
      if (own_.At(r, worst_step) > own_.At(worst, worst_step)) worst = r;
    }
    for (const size_t s : long_steps) a.steps.push_back(job_.steps[s]);
    const bool all = own_.At(worst, worst_step) < 0.3 * (Slowest(worst_step) - step_ns_);
    if (!all) a.ranks.push_back(worst);
    a.evidence.push_back(
        fmt::format("{} of {} steps are longer, the longest (step {}) {} instead of {}; {}",
                    long_steps.size(), job_.steps.size(), job_.steps[worst_step],
                    Duration(Slowest(worst_step)), Duration(step_ns_),
                    all ? "all ranks stop at the same time"
                        : fmt::format("{} is waited for", job_.ranks[worst].name)));
    return true;
  }

  const JobTimes& job_;
  Excess own_;
  double step_ns_ = 0;
  CulpritAnswer answer_;
};

}  // namespace

std::string_view Text(Cause cause) {
  static constexpr std::array<std::string_view, 9> kWords = {
      "none", "slow_gpu", "slow_host", "link", "data", "program", "one_off", "unknown", "no_data"};
  return kWords[static_cast<size_t>(cause)];
}

CulpritAnswer FindCulprit(const JobTimes& job) { return Finder(job).Run(); }

}  // namespace xlatrace::fleet
