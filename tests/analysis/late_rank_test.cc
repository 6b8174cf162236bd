// SPDX-License-Identifier: Apache-2.0
#include "analysis/late_rank.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace xlatrace::analysis {
namespace {

constexpr double kStepNs = 1e6;

struct Job {
  std::vector<double> kernel_factors;  // By rank.
  std::vector<double> host_factors;
  double noise = 0.05;
  size_t steps = 20;
};

// A step takes what is longer, kernels or host.
std::vector<RankWork> Work(const Job& job, unsigned seed) {
  std::mt19937 random(seed);
  std::lognormal_distribution<double> vary(0, job.noise);
  std::vector<RankWork> ranks(job.kernel_factors.size());
  for (size_t r = 0; r < ranks.size(); ++r) {
    for (size_t s = 0; s < job.steps; ++s) {
      const double kernels = kStepNs * job.kernel_factors[r] * vary(random);
      const double host = kStepNs * job.host_factors[r] * vary(random);
      ranks[r].kernel_ns.push_back(kernels);
      ranks[r].host_ns.push_back(host);
      ranks[r].own_ns.push_back(std::max(kernels, host));
    }
  }
  return ranks;
}

TEST(LateRank, RankWithSlowerKernelsIsNamedWithItsCost) {
  const Job job{{1, 1, 1.3, 1}, {0.5, 0.5, 0.5, 0.5}};
  const auto late = FindLateRanks(Work(job, 1), 0.01 * kStepNs);
  ASSERT_TRUE(late);
  EXPECT_EQ(late->ranks, std::vector<size_t>{2});
  EXPECT_EQ(late->work, LateWork::kKernels);
  EXPECT_NEAR(late->excess_ns, 0.3 * kStepNs, 0.05 * kStepNs);
  EXPECT_NEAR(late->cost_ns, 0.25 * kStepNs, 0.06 * kStepNs);
}

TEST(LateRank, RankWithSlowerHostIsNamed) {
  const Job job{{1, 1}, {1.1, 1.6}};
  const auto late = FindLateRanks(Work(job, 2), 0.01 * kStepNs);
  ASSERT_TRUE(late);
  EXPECT_EQ(late->ranks, std::vector<size_t>{1});
  EXPECT_EQ(late->work, LateWork::kHost);
}

TEST(LateRank, SlowerHostThatCostsNothingIsNotNamed) {
  const Job job{{1, 1}, {0.3, 0.6}};
  EXPECT_FALSE(FindLateRanks(Work(job, 3), 0.01 * kStepNs));
}

TEST(LateRank, SeveralSlowRanksAreNamedTogether) {
  const Job job{{1, 1.4, 1, 1.4}, {0.5, 0.5, 0.5, 0.5}};
  const auto late = FindLateRanks(Work(job, 4), 0.01 * kStepNs);
  ASSERT_TRUE(late);
  EXPECT_EQ(late->ranks.size(), 2U);
}

TEST(LateRank, RankThatFellBehindOnceIsNotNamed) {
  std::vector<RankWork> ranks = Work({{1, 1, 1}, {0.5, 0.5, 0.5}}, 5);
  // It is last in every step, although its kernels and its host take as long as those of others.
  for (double& own : ranks[1].own_ns) own *= 1.5;
  EXPECT_FALSE(FindLateRanks(ranks, 0.01 * kStepNs));
}

TEST(LateRank, FewJobsOfEqualRanksHaveALateRank) {
  int named = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    const Job job{std::vector<double>(2 + seed % 7, 1.0), std::vector<double>(2 + seed % 7, 0.9),
                  0.2};
    named += FindLateRanks(Work(job, 100 + seed), 0.01 * kStepNs) ? 1 : 0;
  }
  EXPECT_LE(named, 4);  // One is expected.
}

TEST(LateRank, OneRankOrNoStepHasNoLateRank) {
  EXPECT_FALSE(FindLateRanks(Work({{1}, {1}}, 6), 0));
  EXPECT_FALSE(FindLateRanks(Work({{1, 2}, {1, 1}, 0.05, 0}, 7), 0));
}

TEST(RankSumProbability, EqualValuesGiveOneHalfAndLargerOnesGiveLess) {
  EXPECT_NEAR(RankSumProbability({1, 2, 3}, {1, 2, 3}), 0.5, 1e-9);
  // Wilcoxon's test by hand: n = m = 5, U = 25, z = 12.5 / sqrt(25 * 11 / 12) = 2.611.
  EXPECT_NEAR(RankSumProbability({6, 7, 8, 9, 10}, {1, 2, 3, 4, 5}),
              0.5 * std::erfc(2.6112 / std::sqrt(2.0)), 1e-4);
}

}  // namespace
}  // namespace xlatrace::analysis
