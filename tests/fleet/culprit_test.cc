// SPDX-License-Identifier: Apache-2.0
#include "fleet/culprit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "tests/fleet/job_maker.h"
#include "tests/golden_text/golden_text.h"
#include "tests/tiers.h"

namespace xlatrace::fleet {
namespace {

TEST(FindCulprit, PlantedCausesAreFoundInNineteenOfTwentyCases) {
  std::mt19937_64 random(20261123);
  constexpr size_t kSteps = 24;
  size_t cases = 0;
  std::string wrong;
  size_t wrong_cases = 0;
  const auto medium_jobs = static_cast<size_t>(Repetitions(22, 81));
  const auto large_jobs = static_cast<size_t>(Repetitions(2, 21));
  for (const auto& [ranks, count] :
       std::map<size_t, size_t>{{8, 98}, {64, medium_jobs}, {1000, large_jobs}}) {
    for (size_t i = 0; i < count; ++i, ++cases) {
      const Plant plant = AnyPlant(random, i, ranks, kSteps);
      const MadeJob made = MakeJob(ranks, kSteps, plant, random());
      const CulpritAnswer answer = FindCulprit(made.times);
      if (answer.cause == plant.cause && NamesTheRank(answer, plant, made)) continue;
      ++wrong_cases;
      wrong += std::to_string(ranks) + " ranks, " + std::string(Text(plant.cause)) + " x " +
               std::to_string(plant.factor) + " of rank " + std::to_string(plant.rank) +
               " from step " + std::to_string(plant.step) + ": " + std::string(Text(answer.cause)) +
               " of " + std::to_string(answer.ranks.size()) + " ranks, gpu " +
               std::to_string(static_cast<int>(answer.gpu)) + "\n";
    }
  }
  EXPECT_EQ(cases, 98 + medium_jobs + large_jobs);
  EXPECT_LE(wrong_cases, cases / 20) << wrong;
  RecordProperty("wrong", static_cast<int>(wrong_cases));
}

TEST(FindCulprit, CleanJobsHaveNoCulprit) {
  std::mt19937_64 random(11);
  size_t wrong = 0;
  for (const auto& [ranks, count] :
       std::map<size_t, size_t>{{8, 150},
                                {64, static_cast<size_t>(Repetitions(30, 140))},
                                {1000, static_cast<size_t>(Repetitions(1, 10))}}) {
    for (size_t i = 0; i < count; ++i) {
      const CulpritAnswer answer = FindCulprit(MakeJob(ranks, 24, {}, random()).times);
      if (answer.cause != Cause::kNone) ++wrong;
    }
  }
  EXPECT_LE(wrong, static_cast<size_t>(Repetitions(1, 3)));  // For 181 and 300 samples.
}

// The cost is the time of the job less that of the same job, with equal random numbers, without the
// plant.
TEST(FindCulprit, StepWithoutTheCulpritEqualsTheCleanJob) {
  for (const double factor : {0.1, 0.4, 1.0}) {
    const MadeJob made = MakeJob(
        64, 24, {.cause = Cause::kSlowGpu, .gpu = GpuReason::kClocks, .rank = 9, .factor = factor},
        7);
    const CulpritAnswer answer = FindCulprit(made.times);
    EXPECT_NEAR(answer.step_ns, made.true_step_ns, 1e3);
    EXPECT_NEAR(answer.without_ns, made.true_clean_ns, 0.02 * made.true_clean_ns) << factor;
  }
}

// Twelve ranks, two per host, gather among four neighbours and reduce across hosts. Both take 10 ms
// if host 2 takes part, otherwise 2. Ranks of host 2 are in two slow exchanges, most others in one.
// So the excess of the slowest ranks is half of the saving without the link.
TEST(FindCulprit, WithoutASlowLinkAllItsExchangesAreShorter) {
  constexpr size_t kRanks = 12, kSteps = 12;
  constexpr double kWork = 46e6, kFast = 2e6, kSlow = 10e6;
  const auto on_host = [](size_t r) { return r / 2 == 2; };
  JobTimes job;
  std::vector<double> own(kRanks, kWork);
  for (size_t r = 0; r < kRanks; ++r) {
    job.ranks.push_back({"rank " + std::to_string(r), "host" + std::to_string(r / 2), "program"});
  }
  const auto exchange = [&](const std::string& instruction, const std::vector<size_t>& ranks) {
    const bool slow = std::any_of(ranks.begin(), ranks.end(), on_host);
    job.transfers.push_back({instruction, ranks, slow ? kSlow : kFast});
    for (const size_t r : ranks) own[r] += slow ? kSlow : kFast;
  };
  for (size_t k = 0; k < 3; ++k) exchange("gather", {4 * k, 4 * k + 1, 4 * k + 2, 4 * k + 3});
  for (size_t k = 0; k < 4; ++k) exchange("reduce", {k, k + 4, k + 8});
  constexpr double kStep = kWork + 2 * kSlow;
  for (size_t s = 0; s < kSteps; ++s) job.steps.push_back(static_cast<int64_t>(s));
  for (const double of_rank : own) {
    for (size_t s = 0; s < kSteps; ++s) {
      job.times.push_back({.known = true,
                           .step_ns = kStep,
                           .wait_ns = kStep - of_rank,
                           .gemm_ns = 20e6,
                           .other_ns = kWork - 20e6});
    }
  }
  const CulpritAnswer answer = FindCulprit(job);
  EXPECT_EQ(answer.cause, Cause::kLink);
  EXPECT_EQ(answer.ranks, (std::vector<size_t>{4, 5}));
  EXPECT_NEAR(answer.cost_ns, 2 * (kSlow - kFast), 1);
  EXPECT_NEAR(answer.without_ns, kWork + 2 * kFast, 1);
}

TEST(FindCulprit, CulpritHasItsFirstSlowStep) {
  for (const size_t step : {0u, 5u, 11u}) {
    const MadeJob made = MakeJob(8, 24,
                                 {.cause = Cause::kSlowGpu,
                                  .gpu = GpuReason::kMemoryOrNeighbour,
                                  .rank = 3,
                                  .step = step,
                                  .factor = 0.5},
                                 3);
    EXPECT_EQ(FindCulprit(made.times).since_step, static_cast<int64_t>(step));
  }
}

// The rank is slow, and neither its kernels nor its gaps are longer.
TEST(FindCulprit, CulpritWithoutASlowPartHasNoCause) {
  MadeJob made = MakeJob(8, 24, {}, 5);
  for (size_t r = 0; r < 8; ++r) {
    for (size_t s = 0; s < 24; ++s) {
      RankStep& time = made.times.times[r * 24 + s];
      time.step_ns += 40e6;
      if (r != 2) time.wait_ns += 40e6;
    }
  }
  const CulpritAnswer answer = FindCulprit(made.times);
  EXPECT_EQ(answer.cause, Cause::kUnknown);
  EXPECT_EQ(answer.ranks, std::vector<size_t>{2});
  EXPECT_NEAR(answer.cost_ns, 40e6, 6e6);
}

// Ranks that do not wait for each other may be as different as they like.
TEST(FindCulprit, SlowRankWithoutWaitingRanksIsNoCulprit) {
  MadeJob made = MakeJob(8, 24, {}, 5);
  for (size_t r = 0; r < 8; ++r) {
    for (size_t s = 0; s < 24; ++s) {
      RankStep& time = made.times.times[r * 24 + s];
      time.wait_ns = 0;
      if (r == 2) time.gap_ns += 40e6;
      if (r == 2) time.step_ns += 40e6;
    }
  }
  EXPECT_EQ(FindCulprit(made.times).cause, Cause::kNone);
}

TEST(FindCulprit, FewStepsOrOneRankGiveNoData) {
  const CulpritAnswer few = FindCulprit(MakeJob(8, 4, {}, 1).times);
  EXPECT_EQ(few.cause, Cause::kNoData);
  EXPECT_GOLDEN_TEXT(few.evidence.front());  // 4 common steps; 5 are needed.
  JobTimes none;
  none.ranks.resize(2);
  EXPECT_EQ(FindCulprit(none).cause, Cause::kNoData);
  EXPECT_GOLDEN_TEXT(FindCulprit(none).evidence.front());
  JobTimes one;
  one.ranks.resize(1);
  one.steps = {1, 2, 3, 4, 5, 6};
  one.times.resize(6, {.known = true, .step_ns = 1e6});
  EXPECT_EQ(FindCulprit(one).cause, Cause::kNoData);
  EXPECT_GOLDEN_TEXT(FindCulprit(one).evidence.front());
}

}  // namespace
}  // namespace xlatrace::fleet
