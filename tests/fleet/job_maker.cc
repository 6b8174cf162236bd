// SPDX-License-Identifier: Apache-2.0
#include "tests/fleet/job_maker.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "base/robust.h"
#include "fleet/skew.h"

namespace xlatrace::fleet {
namespace {

constexpr double kGemmNs = 54.9e6;
constexpr double kOtherNs = 65.4e6;
constexpr double kExchangeNs = 2.6e6;
// Sums of single steps of the two real ranks, over their means.
constexpr std::array<double, 6> kGemmJitter = {1.0034, 0.9982, 0.9998, 1.0006, 0.9980, 1.0003};
constexpr std::array<double, 6> kOtherJitter = {1.0020, 0.9992, 1.0014, 0.9994, 0.9992, 1.0006};
constexpr std::array<double, 6> kGapNs = {7.119e6, 6.778e6, 3.086e6, 8.383e6, 6.663e6, 2.405e6};
constexpr std::array<double, 5> kExchangeJitter = {1.02, 0.96, 0.93, 1.08, 1.01};

double Between(std::mt19937_64& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

class Simulation {
 public:
  Simulation(size_t ranks, size_t steps, const Plant& plant, uint64_t seed)
      : n_(ranks), steps_(steps), plant_(plant), random_(seed), per_host_(ranks < 64 ? 2 : 8) {}

  MadeJob Run() {
    MadeJob made;
    JobTimes& job = made.times;
    for (size_t r = 0; r < n_; ++r) {
      const bool longer = plant_.cause == Cause::kProgram && r % 4 == plant_.rank % 4;
      job.ranks.push_back({"rank " + std::to_string(r), "host" + std::to_string(Host(r)),
                           longer ? "program b" : "program a"});
      if (Host(r) == Host(plant_.rank)) made.ranks_of_host.push_back(r);
    }
    job.times.resize(n_ * steps_);
    std::vector<double> lengths;
    for (size_t s = 0; s < steps_; ++s) {
      job.steps.push_back(static_cast<int64_t>(s));
      lengths.push_back(Step(s, job));
    }
    made.true_step_ns = LowerMedian(lengths);
    Ask(job);
    return made;
  }

 private:
  size_t Host(size_t rank) const { return rank / per_host_; }
  size_t Hosts() const { return n_ / per_host_; }
  // Host pairs of the two exchanges: (0,1) (2,3)..., and (1,2) (3,4)... round.
  size_t Group(size_t rank, int exchange) const {
    const size_t host = exchange == 0 ? Host(rank) : (Host(rank) + 1) % Hosts();
    return host / 2 * per_host_ + rank % per_host_;
  }
  template <size_t N>
  double Any(const std::array<double, N>& of) {
    return of[random_() % N];
  }

  double Step(size_t s, JobTimes& job) {
    std::vector<double> at(n_, 0);
    const size_t of_data = random_() % n_;
    for (size_t r = 0; r < n_; ++r) {
      RankStep& time = job.times[r * steps_ + s];
      time.known = true;
      time.gemm_ns = kGemmNs * Any(kGemmJitter);
      time.other_ns = kOtherNs * Any(kOtherJitter);
      time.gap_ns = Any(kGapNs);
      Change(r, s, of_data, time);
      at[r] = 0.5 * (time.gemm_ns + time.other_ns) + 0.5 * time.gap_ns;
    }
    for (int exchange = 0; exchange < 2; ++exchange) {
      Meet(s, exchange, at);
      if (exchange == 0) {
        for (size_t r = 0; r < n_; ++r) {
          const RankStep& time = job.times[r * steps_ + s];
          at[r] += 0.5 * (time.gemm_ns + time.other_ns) + 0.5 * time.gap_ns;
        }
      }
    }
    Meet(s, 2, at);
    for (size_t r = 0; r < n_; ++r) job.times[r * steps_ + s].step_ns = at[r];
    return at[0];
  }

  void Change(size_t r, size_t s, size_t of_data, RankStep& time) const {
    const double step = kGemmNs + kOtherNs;
    switch (plant_.cause) {
      case Cause::kSlowGpu:
        if (r != plant_.rank || s < plant_.step) return;
        time.gemm_ns *= 1 + plant_.factor;
        if (plant_.gpu == GpuReason::kMemoryOrNeighbour) time.other_ns *= 1 + plant_.factor;
        return;
      case Cause::kSlowHost:
        if (Host(r) == Host(plant_.rank) && s >= plant_.step) time.gap_ns += plant_.factor * step;
        return;
      case Cause::kData:
        if (r != of_data) return;
        time.gemm_ns *= 1 + plant_.factor;
        time.other_ns *= 1 + plant_.factor;
        return;
      case Cause::kProgram:
        if (r % 4 != plant_.rank % 4) return;
        time.gemm_ns *= 1 + plant_.factor;
        time.other_ns *= 1 + plant_.factor;
        return;
      case Cause::kOneOff:
        if (s != plant_.step || (r != plant_.rank && !plant_.everyone)) return;
        time.gap_ns += plant_.factor * step;
        return;
      default:
        return;
    }
  }

  // A rank that arrives early waits; only its time inside the exchange is reported.
  void Meet(size_t s, int exchange, std::vector<double>& at) {
    std::map<size_t, double> last;
    std::map<size_t, double> takes;
    for (size_t r = 0; r < n_; ++r) {
      const size_t group = exchange == 2 ? 0 : Group(r, exchange);
      last[group] = std::max(last[group], at[r]);
      double& exchange_ns = takes[group];
      if (exchange_ns == 0) exchange_ns = kExchangeNs * Any(kExchangeJitter);
      if (plant_.cause == Cause::kLink && exchange != 2 && Host(r) == Host(plant_.rank)) {
        exchange_ns = std::max(exchange_ns, kExchangeNs * (1 + plant_.factor));
      }
    }
    for (size_t r = 0; r < n_; ++r) {
      const size_t group = exchange == 2 ? 0 : Group(r, exchange);
      const double end = last[group] + takes[group];
      const CollectiveKey key{static_cast<int64_t>(s), "", std::to_string(exchange), 0,
                              static_cast<int64_t>(group)};
      told_.push_back({r, s, key, static_cast<int64_t>(end - at[r])});
      skew_.Add(key, told_.back().duration_ns, r);
      at[r] = end;
    }
  }

  void Ask(JobTimes& job) const {
    std::map<std::pair<std::string, int64_t>, GroupTransfer> groups;
    std::map<std::pair<std::string, int64_t>, std::map<size_t, bool>> members;
    for (const Told& told : told_) {
      const auto group = skew_.Of(told.key, told.key.instruction == "2" ? 2 : 2);
      if (!group) continue;
      job.times[told.rank * steps_ + told.step].wait_ns +=
          static_cast<double>(told.duration_ns - group->transfer_ns);
      GroupTransfer& of = groups[{told.key.instruction, told.key.group}];
      of.instruction = told.key.instruction;
      members[{told.key.instruction, told.key.group}][told.rank] = true;
      of.transfer_ns += static_cast<double>(group->transfer_ns) /
                        static_cast<double>(group->ranks) / static_cast<double>(steps_);
    }
    for (auto& [key, of] : groups) {
      for (const auto& [rank, is] : members[key]) of.ranks.push_back(rank);
      job.transfers.push_back(of);
    }
  }

  struct Told {
    size_t rank, step;
    CollectiveKey key;
    int64_t duration_ns;
  };
  size_t n_, steps_;
  Plant plant_;
  std::mt19937_64 random_;
  size_t per_host_;
  Skew skew_;
  std::vector<Told> told_;
};

}  // namespace

Plant AnyPlant(std::mt19937_64& random, size_t number, size_t ranks, size_t steps) {
  static constexpr Cause kCauses[] = {Cause::kSlowGpu, Cause::kSlowGpu, Cause::kSlowHost,
                                      Cause::kLink,    Cause::kData,    Cause::kProgram,
                                      Cause::kOneOff};
  Plant plant;
  plant.cause = kCauses[number % std::size(kCauses)];
  plant.rank = random() % ranks;
  switch (plant.cause) {
    case Cause::kSlowGpu:
      plant.gpu = number % 2 == 0 ? GpuReason::kClocks : GpuReason::kMemoryOrNeighbour;
      plant.factor = Between(random, 0.08, 1.0);
      plant.step = random() % (steps / 2);
      break;
    case Cause::kSlowHost:
      plant.factor = Between(random, 0.05, 0.5);
      plant.step = random() % (steps / 2);
      break;
    case Cause::kLink:
      plant.factor = Between(random, 1.0, 6.0);
      break;
    case Cause::kData:
    case Cause::kProgram:
      plant.factor = Between(random, 0.08, 0.6);
      break;
    default:
      plant.factor = Between(random, 0.5, 5.0);
      plant.step = random() % steps;
      plant.everyone = random() % 2 == 0;
  }
  return plant;
}

bool NamesTheRank(const CulpritAnswer& answer, const Plant& plant, const MadeJob& made) {
  const auto named = [&](size_t rank) {
    return std::find(answer.ranks.begin(), answer.ranks.end(), rank) != answer.ranks.end();
  };
  switch (plant.cause) {
    case Cause::kSlowGpu:
      return answer.ranks.size() == 1 && named(plant.rank) && answer.gpu == plant.gpu;
    case Cause::kSlowHost:
      return answer.ranks.size() == made.ranks_of_host.size() &&
             std::all_of(made.ranks_of_host.begin(), made.ranks_of_host.end(), named);
    case Cause::kLink:
    case Cause::kProgram:
      return named(plant.rank);
    case Cause::kOneOff:
      return answer.steps == std::vector<int64_t>{static_cast<int64_t>(plant.step)} &&
             (plant.everyone ? answer.ranks.empty() : named(plant.rank));
    default:
      return answer.ranks.empty();
  }
}

MadeJob MakeJob(size_t ranks, size_t steps, const Plant& plant, uint64_t seed) {
  MadeJob made = Simulation(ranks, steps, plant, seed).Run();
  Plant clean = plant;
  clean.factor = 0;
  made.true_clean_ns = Simulation(ranks, steps, clean, seed).Run().true_step_ns;
  return made;
}

}  // namespace xlatrace::fleet
