// SPDX-License-Identifier: Apache-2.0
#include "compare/time_change.h"

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace xlatrace::compare {
namespace {

// One run: a level around `ns` with `between` (relative) between runs, steps with `within`.
Iterations RunOf(double ns, double between, double within, size_t count, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  const double level = ns * std::exp(between * normal(random));
  Iterations run;
  run.usual_variation = 0.01;
  for (size_t i = 0; i < count; ++i) {
    run.ns.push_back(std::llround(level * std::exp(within * normal(random))));
  }
  return run;
}

struct Words {
  int established = 0, very_likely = 0, not_distinguishable = 0;
};

Words Count(double ratio, double between, size_t runs, int trials) {
  std::mt19937_64 random(61);
  Words words;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<Iterations> base, now;
    for (size_t r = 0; r < runs; ++r) {
      base.push_back(RunOf(1e7, between, 0.05, 40, random));
      now.push_back(RunOf(1e7 * ratio, between, 0.05, 40, random));
    }
    const ResultWord word = ChangeOfTime(base, now).word;
    words.established += word == ResultWord::kEstablished;
    words.very_likely += word == ResultWord::kVeryLikely;
    words.not_distinguishable += word == ResultWord::kNotDistinguishable;
  }
  return words;
}

TEST(TimeChange, EqualRunsAreEstablishedAtMostOnceIn300) {
  for (const size_t runs : {1, 2, 4}) {
    const Words words = Count(1, 0.01, runs, 3000);
    EXPECT_LE(words.established, 10) << runs;
    EXPECT_LE(words.very_likely, 150) << runs;
  }
}

TEST(TimeChange, FactorOfTwoIsEstablishedWithOneRunASide) {
  EXPECT_EQ(Count(2, 0.01, 1, 300).established, 300);
}

TEST(TimeChange, FourRunsPerSideEstablishTenPercent) {
  EXPECT_LE(Count(1.1, 0.01, 1, 500).not_distinguishable, 25);
  EXPECT_GE(Count(1.1, 0.01, 4, 500).established, 475);
}

// 14.4 ms (10 to 90 %: 11.8 to 18.3) against 34.6 ms (32.1 to 38.8) on a shared CPU.
TEST(TimeChange, DisjointRangesOnASharedCpuAreDifferent) {
  std::mt19937_64 random(7);
  Iterations base = RunOf(14.4e6, 0, 0.17, 63, random);
  Iterations now = RunOf(34.6e6, 0, 0.074, 47, random);
  compare::Run runs[2];
  for (compare::Run& run : runs) run.cpu = true;
  runs[0].call_walls = base.ns;
  runs[1].call_walls = now.ns;
  const TimeChange change = ChangeOfTime(std::vector<const compare::Run*>{&runs[0]},
                                         std::vector<const compare::Run*>{&runs[1]});
  EXPECT_TRUE(change.of_calls);
  EXPECT_TRUE(change.different());
  // 34.6 / 14.4 = 2.40.
  EXPECT_NEAR(change.ratio, 2.4, 0.2);
  EXPECT_GT(change.interval.low, 0.2);
}

TEST(TimeChange, SwappedSidesGiveTheInverseRatio) {
  std::mt19937_64 random(3);
  const Iterations a = RunOf(1e7, 0, 0.1, 40, random);
  const Iterations b = RunOf(1.1e7, 0, 0.1, 40, random);
  const TimeChange forward = ChangeOfTime({a}, {b});
  const TimeChange back = ChangeOfTime({b}, {a});
  EXPECT_EQ(forward.word, back.word);
  EXPECT_NEAR(forward.ratio * back.ratio, 1, 1e-12);
  EXPECT_NEAR((1 + forward.interval.low) * (1 + back.interval.high), 1, 1e-12);
  EXPECT_EQ(ChangeOfTime({a}, {a}).ratio, 1);
}

// A run whose level drifts by 30 % does not predict the level of the next run.
TEST(TimeChange, DriftWithinARunWidensTheInterval) {
  Iterations flat, drifting;
  flat.usual_variation = drifting.usual_variation = 0.01;
  for (int64_t i = 0; i < 40; ++i) {
    flat.ns.push_back(10'000'000 + i);
    drifting.ns.push_back(10'000'000 + i * 75'000);
  }
  const TimeChange change = ChangeOfTime({flat}, {drifting});
  EXPECT_EQ(change.word, ResultWord::kNotDistinguishable);
  EXPECT_GT(change.ratio, 1.1);
}

TEST(TimeChange, RunWithThreeIterationsHasNoTime) {
  Iterations three;
  three.ns = {1, 2, 3};
  EXPECT_EQ(ChangeOfTime({three}, {three}).word, ResultWord::kUnknown);
}

}  // namespace
}  // namespace xlatrace::compare
