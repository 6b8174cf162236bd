// SPDX-License-Identifier: Apache-2.0
#include "fleet/job_path.h"

#include <algorithm>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/golden_text/golden_text.h"

namespace xlatrace::fleet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

auto On(size_t rank) {
  return [rank](int64_t) { return rank; };
}

// Both compute, then reduce. Rank 0 comes at 60, rank 1 at 90; the exchange takes 10.
TEST(JobPath, PathRunsThroughTheLastRank) {
  JobPath path(2);
  path.AddStep(0, {.number = 7, .start_ns = 0, .end_ns = 105},
               {{.number = 0, .start_ns = 60, .end_ns = 100, .waited = true}});
  // Its clock is 1,000 ahead.
  path.AddStep(1, {.number = 7, .start_ns = 1000, .end_ns = 1105},
               {{.number = 0,
                 .start_ns = 1090,
                 .end_ns = 1100,
                 .waited = true,
                 .last = true,
                 .lead_ns = 30}});
  EXPECT_THAT(path.Walk(On(0)),
              ElementsAre(PathSegment{.step = 7,
                                      .rank = 1,
                                      .to = 0,
                                      .own_ns = 90,
                                      .exchange_ns = 10,
                                      .collectives = 1,
                                      .lead_ns = 30},
                          PathSegment{.step = 7, .rank = 0, .from = 0, .own_ns = 5}));
}

// Rank 0 is last at 20 in collective 0 (exchange 5, all end at 25). Rank 1 is last at 60 in
// collective 1 (exchange 10, all end at 70). Rank 2 computes for 30 after that.
//
//   rank 0  ====================XXXXX==========------------------------XXXXXXXXXX==
//   rank 1  ==========----------XXXXX===================================XXXXXXXXXX=
//   rank 2  =====---------------XXXXX=====-----------------------------XXXXXXXXXX==============
TEST(JobPath, PathChangesToTheRankThatComesLast) {
  JobPath path(3);
  path.AddStep(
      0, {.end_ns = 72},
      {{.number = 0, .start_ns = 20, .end_ns = 25, .waited = true, .last = true, .lead_ns = 10},
       {.number = 1, .start_ns = 35, .end_ns = 70, .waited = true}});
  path.AddStep(
      1, {.end_ns = 71},
      {{.number = 0, .start_ns = 10, .end_ns = 25, .waited = true},
       {.number = 1, .start_ns = 60, .end_ns = 70, .waited = true, .last = true, .lead_ns = 25}});
  path.AddStep(2, {.end_ns = 100},
               {{.number = 0, .start_ns = 5, .end_ns = 25, .waited = true},
                {.number = 1, .start_ns = 30, .end_ns = 70, .waited = true}});
  EXPECT_THAT(
      path.Walk(On(2)),
      ElementsAre(
          PathSegment{
              .rank = 0, .to = 0, .own_ns = 20, .exchange_ns = 5, .collectives = 1, .lead_ns = 10},
          PathSegment{.rank = 1,
                      .from = 0,
                      .to = 1,
                      .own_ns = 35,
                      .exchange_ns = 10,
                      .collectives = 1,
                      .lead_ns = 25},
          PathSegment{.rank = 2, .from = 1, .own_ns = 30}));
}

// A rank that comes last every time keeps the path: one row.
TEST(JobPath, ConsecutiveSegmentsOfOneRankAreJoined) {
  JobPath path(2);
  path.AddStep(
      0, {.end_ns = 100},
      {{.number = 0, .start_ns = 40, .end_ns = 50, .waited = true, .last = true, .lead_ns = 5},
       {.number = 1, .start_ns = 90, .end_ns = 100, .waited = true, .last = true, .lead_ns = 6}});
  path.AddStep(1, {.end_ns = 100},
               {{.number = 0, .start_ns = 35, .end_ns = 50, .waited = true},
                {.number = 1, .start_ns = 84, .end_ns = 100, .waited = true}});
  EXPECT_THAT(
      path.Walk(On(1)),
      ElementsAre(PathSegment{
          .rank = 0, .to = 1, .own_ns = 80, .exchange_ns = 20, .collectives = 2, .lead_ns = 11}));
}

// Rank 1 comes last, but rank 0 computes on until the end and waits for nothing.
TEST(JobPath, CollectiveHiddenByComputationIsNotOnThePath) {
  JobPath path(2);
  path.AddStep(0, {.end_ns = 100}, {{.number = 0, .start_ns = 10, .end_ns = 50}});
  path.AddStep(1, {.end_ns = 80},
               {{.number = 0, .start_ns = 40, .end_ns = 50, .last = true, .lead_ns = 30}});
  EXPECT_THAT(path.Walk(On(0)), ElementsAre(PathSegment{.rank = 0, .own_ns = 100}));
}

// Collective 1 was queued behind 0 on its stream (1): it could begin only when 0 was over, though
// its rank computed on. On a stream of its own (2) it began when its operand was there.
TEST(JobPath, CollectiveWaitsForThePreviousOneOnItsStream) {
  for (const int64_t stream : {1, 2}) {
    JobPath path(2);
    path.AddStep(0, {.end_ns = 100'000},
                 {{.number = 0, .stream = 1, .start_ns = 20'000, .end_ns = 60'000},
                  {.number = 1,
                   .stream = stream,
                   .start_ns = 61'000,
                   .end_ns = 100'000,
                   .waited = true,
                   .last = true,
                   .lead_ns = 1000}});
    path.AddStep(
        1, {.end_ns = 100'000},
        {{.number = 0,
          .stream = 1,
          .start_ns = 50'000,
          .end_ns = 60'000,
          .last = true,
          .lead_ns = 30'000},
         {.number = 1, .stream = stream, .start_ns = 60'000, .end_ns = 100'000, .waited = true}});
    // On rank 0 it is at the step's end, too.
    const PathSegment all{
        .rank = 0, .own_ns = 61'000, .exchange_ns = 39'000, .collectives = 1, .lead_ns = 1000};
    if (stream == 2) {
      EXPECT_THAT(path.Walk(On(0)), ElementsAre(all));
      continue;
    }
    EXPECT_THAT(path.Walk(On(0)), ElementsAre(PathSegment{.rank = 1,
                                                          .to = 0,
                                                          .own_ns = 50'000,
                                                          .exchange_ns = 10'000,
                                                          .collectives = 1,
                                                          .lead_ns = 30'000},
                                              PathSegment{.rank = 0,
                                                          .from = 0,
                                                          .own_ns = 1000,
                                                          .exchange_ns = 39'000,
                                                          .collectives = 1,
                                                          .lead_ns = 1000}));
  }
}

// Step 2 begins on rank 1, whose step 1 ended later than rank 0's: there the path of step 1 ends.
// Step 4 comes after a hole in the recordings.
TEST(JobPath, AStepEndsWhereTheNextOneBegins) {
  JobPath path(2);
  for (const size_t rank : {0, 1}) {
    const int64_t late = rank == 1 ? 3 : 0;
    path.AddStep(rank, {.number = 1, .start_ns = 0, .end_ns = 100 + late}, {});
    path.AddStep(rank, {.number = 2, .start_ns = 100 + late, .end_ns = 200},
                 {{.number = 0,
                   .start_ns = rank == 1 ? 150 : 140,
                   .end_ns = 190,
                   .waited = true,
                   .last = rank == 1,
                   .lead_ns = 10}});
    path.AddStep(rank, {.number = 4, .start_ns = 500, .end_ns = 600}, {});
  }
  EXPECT_THAT(path.Walk(On(0)),
              ElementsAre(PathSegment{.step = 1, .rank = 1, .own_ns = 103},
                          PathSegment{.step = 2,
                                      .rank = 1,
                                      .to = 0,
                                      .own_ns = 47,
                                      .exchange_ns = 40,
                                      .collectives = 1,
                                      .lead_ns = 10},
                          PathSegment{.step = 2, .rank = 0, .from = 0, .own_ns = 10},
                          PathSegment{.step = 4, .rank = 0, .own_ns = 100}));
}

TEST(JobPath, StepMissingOnARankHasNoPath) {
  JobPath path(2);
  path.AddStep(0, {.number = 1, .end_ns = 100}, {});
  path.AddStep(0, {.number = 2, .start_ns = 100, .end_ns = 200}, {});
  path.AddStep(1, {.number = 2, .start_ns = 100, .end_ns = 200}, {});
  EXPECT_THAT(path.Walk(On(0)), ElementsAre(PathSegment{.step = 2, .rank = 0, .own_ns = 100}));
}

TEST(JobPath, CircularCollectivesHaveNoPath) {
  JobPath path(2);
  path.AddStep(0, {.end_ns = 100},
               {{.number = 0, .start_ns = 50, .end_ns = 60, .waited = true, .last = true},
                {.number = 1, .start_ns = 10, .end_ns = 40, .waited = true}});
  path.AddStep(1, {.end_ns = 100},
               {{.number = 1, .start_ns = 50, .end_ns = 60, .waited = true, .last = true},
                {.number = 0, .start_ns = 10, .end_ns = 40, .waited = true}});
  EXPECT_THAT(path.Walk(On(0)), IsEmpty());
  EXPECT_GOLDEN_TEXT(FindPath(path, On(0)).why_not);
}

// Steps of 100, of which rank 1 needs 80 and 10 go to the exchange; step 0 compiles.
JobPath SlowRank(int64_t untold_ns) {
  JobPath path(2);
  for (int64_t step = 0; step < 3; ++step) {
    for (const size_t rank : {0, 1}) {
      const int64_t start = step * 100'000'000;
      const int64_t comes = rank == 1 ? 80'000'000 : 50'000'000;
      path.AddStep(rank,
                   {.number = step,
                    .start_ns = start,
                    .end_ns = start + 100'000'000,
                    .steady = step > 0,
                    .untold_ns = untold_ns},
                   {{.number = static_cast<uint32_t>(step),
                     .start_ns = start + comes,
                     .end_ns = start + 90'000'000,
                     .waited = true,
                     .last = rank == 1,
                     .lead_ns = 30'000'000}});
    }
  }
  return path;
}

TEST(FindPath, SharesAreOfSteadySteps) {
  const PathAnswer answer = FindPath(SlowRank(0), On(0));
  EXPECT_EQ(answer.why_not, "");
  EXPECT_EQ(answer.steps, 2);
  EXPECT_EQ(answer.path_ns, 200'000'000);
  EXPECT_EQ(answer.exchange_ns, 20'000'000);
  // The last step ends on rank 0, after 10 of its own; step 1 goes on into step 2 on rank 1.
  EXPECT_EQ(answer.shares[1].own_ns, 170'000'000);
  EXPECT_EQ(answer.shares[0].own_ns, 10'000'000);
  EXPECT_EQ(answer.shares[1].lead_ns, 60'000'000);
  // 170 of 200 ms are 85.0 %; rank 1 comes 30.0 ms later; 10.0 % are exchange.
  EXPECT_GOLDEN_TEXT(PathSentence(answer, {"alpha", "beta"}));
}

// In 2 of 100 ms the rank that others wait for is not known.
TEST(FindPath, TwoPercentOfUnknownWaitingLeaveNoPath) {
  const PathAnswer answer = FindPath(SlowRank(2'000'000), On(0));
  EXPECT_THAT(answer.segments, IsEmpty());
  EXPECT_NE(answer.why_not, "");
  EXPECT_GOLDEN_TEXT(PathSentence(answer, {}));  // 2.0 %.
  EXPECT_EQ(FindPath(SlowRank(1'900'000), On(0)).why_not, "");
}

// The exchange ended on rank 0 20 after its end on rank 1: no path of this kind explains the step.
TEST(FindPath, UnequalEndsOfAnExchangeGiveNoPath) {
  JobPath path(2);
  path.AddStep(0, {.end_ns = 100}, {{.number = 0, .start_ns = 10, .end_ns = 60, .waited = true}});
  path.AddStep(1, {.end_ns = 100},
               {{.number = 0, .start_ns = 30, .end_ns = 40, .waited = true, .last = true}});
  EXPECT_GOLDEN_TEXT(FindPath(path, On(0)).why_not);  // 20.0 %.
}

TEST(FindPath, LongPathKeepsSegmentsOfSomeSteps) {
  constexpr int64_t kSteps = 150'000;
  JobPath path(2);
  for (const size_t rank : {0, 1}) {
    for (int64_t step = 0; step < kSteps; ++step) {
      path.AddStep(rank, {.number = step, .start_ns = 100 * step, .end_ns = 100 * step + 100}, {});
    }
  }
  const PathAnswer answer = FindPath(path, On(1));
  EXPECT_EQ(answer.steps, kSteps);
  EXPECT_EQ(answer.shares[1].own_ns, 100 * kSteps);
  EXPECT_EQ(answer.segments.size(), static_cast<size_t>(kSteps / 2));
  EXPECT_EQ(answer.segments[1].step, 2);
}

TEST(FindPath, OneRankHasNoPath) {
  JobPath path(1);
  path.AddStep(0, {.end_ns = 100}, {});
  EXPECT_GOLDEN_TEXT(FindPath(path, On(0)).why_not);
}

// Jobs on one true clock. Each rank computes, starts collectives of random groups, which run on one
// stream in order, and waits for them later. Computations end on 1, exchanges on 0 (of a million).
// So the path's own time on a rank shows how many of its computations are on the path.
constexpr int64_t kUnit = 1'000'000;

struct Simulated {
  size_t ranks = 0;
  struct Round {
    std::vector<std::vector<int64_t>> compute;  // Before, and beside; by rank.
    std::vector<size_t> group_of;               // By rank.
    int64_t exchange_ns = 0;
    size_t beside = 0;  // So many rounds later it is waited for.
  };
  std::vector<Round> rounds;
};

Simulated AnyJob(std::mt19937_64& random) {
  Simulated job;
  job.ranks = 2 + random() % 6;
  const size_t rounds = 1 + random() % 8;
  for (size_t i = 0; i < rounds; ++i) {
    Simulated::Round round;
    const size_t stride = 1 + random() % 2;
    for (size_t r = 0; r < job.ranks; ++r) {
      std::vector<int64_t> compute;
      for (size_t k = 0; k <= random() % 3; ++k) {
        compute.push_back(static_cast<int64_t>(1 + random() % 1'000'000) * kUnit + 1);
      }
      round.compute.push_back(compute);
      round.group_of.push_back(stride == 1 ? 0 : r % 2);
    }
    round.exchange_ns = static_cast<int64_t>(1 + random() % 1'000'000) * kUnit;
    round.beside = random() % 3;
    job.rounds.push_back(round);
  }
  return job;
}

// `slower`: each of this rank's computations takes 1 more. Returns when the last rank ends.
int64_t Simulate(const Simulated& job, std::optional<size_t> slower, JobPath* path,
                 size_t* ends_last) {
  const size_t rounds = job.rounds.size();
  std::vector<int64_t> main(job.ranks, 0), stream(job.ranks, 0);
  std::vector<std::vector<PathCollective>> of_rank(job.ranks);
  std::vector<std::vector<int64_t>> end(rounds, std::vector<int64_t>(job.ranks));
  const auto wait = [&](size_t round, size_t rank) {
    // While the rank waits it does not compute.
    of_rank[rank][round].waited = main[rank] <= end[round][rank];
    main[rank] = std::max(main[rank], end[round][rank]);
  };
  uint32_t number = 0;
  for (size_t i = 0; i < rounds; ++i) {
    std::vector<int64_t> comes(job.ranks);
    for (size_t r = 0; r < job.ranks; ++r) {
      for (size_t j = 0; j < i; ++j) {
        if (j + job.rounds[j].beside + 1 == i) wait(j, r);
      }
      for (const int64_t ns : job.rounds[i].compute[r]) main[r] += ns + (slower == r ? 1 : 0);
      comes[r] = std::max(main[r], stream[r]);
    }
    for (size_t group = 0; group < 2; ++group) {
      std::vector<size_t> members;
      for (size_t r = 0; r < job.ranks; ++r) {
        if (job.rounds[i].group_of[r] == group) members.push_back(r);
      }
      if (members.empty()) continue;
      const auto earlier = [&](size_t a, size_t b) { return comes[a] < comes[b]; };
      const size_t last = *std::max_element(members.begin(), members.end(), earlier);
      for (const size_t r : members) {
        end[i][r] = stream[r] = comes[last] + job.rounds[i].exchange_ns;
        of_rank[r].push_back(
            {.number = number, .start_ns = comes[r], .end_ns = end[i][r], .last = r == last});
      }
      ++number;
    }
  }
  int64_t latest = 0;
  for (size_t r = 0; r < job.ranks; ++r) {
    for (size_t i = 0; i < rounds; ++i) {
      if (i + job.rounds[i].beside + 1 >= rounds) wait(i, r);
    }
    if (main[r] > latest && ends_last != nullptr) *ends_last = r;
    latest = std::max(latest, main[r]);
    if (path == nullptr) continue;
    // A clock of its own.
    const auto ahead = static_cast<int64_t>(r) * 12'345;
    for (PathCollective& collective : of_rank[r]) {
      collective.start_ns += ahead;
      collective.end_ns += ahead;
    }
    path->AddStep(r, {.start_ns = ahead, .end_ns = main[r] + ahead}, of_rank[r]);
  }
  return latest;
}

// Two properties define the critical path. It sums to the time of the job. If the computations of a
// rank take longer, the job takes longer by their number on the path, and not by more.
TEST(JobPath, RankShareOfThePathEqualsItsSlowdownEffect) {
  std::mt19937_64 random(20);
  for (int n = 0; n < 300; ++n) {
    const Simulated job = AnyJob(random);
    JobPath path(job.ranks);
    size_t ends_last = 0;
    const int64_t took = Simulate(job, std::nullopt, &path, &ends_last);
    std::vector<int64_t> own(job.ranks, 0);
    int64_t sum = 0;
    for (const PathSegment& segment : path.Walk(On(ends_last))) {
      own[segment.rank] += segment.own_ns;
      sum += segment.own_ns + segment.exchange_ns;
    }
    EXPECT_EQ(sum, took) << "job " << n;
    for (size_t r = 0; r < job.ranks; ++r) {
      EXPECT_EQ(Simulate(job, r, nullptr, nullptr) - took, own[r] % kUnit)
          << "job " << n << " rank " << r;
    }
  }
}

}  // namespace
}  // namespace xlatrace::fleet
