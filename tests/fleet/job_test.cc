// SPDX-License-Identifier: Apache-2.0
#include "fleet/job.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fleet/job_answer.h"
#include "tests/fleet/rank_files.h"
#include "tests/golden_text/golden_text.h"

namespace xlatrace::fleet {
namespace {

class ReadJobTest : public testing::Test {
 protected:
  ReadJobTest() {
    std::string pattern = testing::TempDir() + "/fleet_job.XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~ReadJobTest() override { std::filesystem::remove_all(folder_); }

  WrittenRanks Write(const RankFiles& wanted) {
    auto written = WriteRankFiles(folder_, wanted);
    EXPECT_TRUE(written) << written.error().message;
    return std::move(*written);
  }
  static std::vector<std::string> Said(const Job& job) {
    std::vector<std::string> names;
    for (const model::RunStat& stat : job.said) names.push_back(stat.name);
    return names;
  }

  std::string folder_;
};

// Without figures, because the times of these jobs have random parts.
std::string WithoutFigures(const std::string& text) {
  static const std::regex figure(R"([0-9][0-9.,]*( ns| us| ms| s|%))");
  return std::regex_replace(text, figure, "#$1");
}

TEST_F(ReadJobTest, SlowRankIsNamedInAnyFileOrder) {
  WrittenRanks written = Write({.ranks = 8, .slow = 5});
  std::reverse(written.paths.begin(), written.paths.end());
  const auto job = ReadJob(written.paths);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->answer.cause, Cause::kSlowGpu);
  EXPECT_EQ(job->answer.gpu, GpuReason::kClocks);
  ASSERT_EQ(job->answer.ranks.size(), 1u);
  EXPECT_EQ(job->ranks[job->answer.ranks[0]].number, 5);
  // Its product takes 10 ms more than the others'; they wait for that and gain all but the jitter.
  EXPECT_NEAR(job->answer.cost_ns, 10e6, 0.8e6);
  EXPECT_THAT(Heading(*job), testing::HasSubstr("rank 5 on host2"));
  EXPECT_GOLDEN_TEXT(WithoutFigures(Heading(*job) + "\n" + Sentence(*job)));
}

TEST_F(ReadJobTest, ClocksAreAlignedWithinTheStatedError) {
  const WrittenRanks written = Write({.ranks = 6, .steps = 40});
  const auto job = ReadJob(written.paths);
  ASSERT_TRUE(job) << job.error().message;
  ASSERT_EQ(job->clocks.sets, 1u);
  const auto local = [&](size_t r, double true_ns) {
    return job->sources[r].start_unix_ns +
           std::llround(true_ns + static_cast<double>(written.offset_ns[r]) +
                        written.drift[r] * true_ns);
  };
  for (size_t r = 0; r < 6; ++r) {
    const ClockFit& fit = job->clocks.clocks[job->ranks[r].clock];
    for (const double at : {0.1e9, 1e9, 1.9e9}) {
      const int64_t wrong = ToCommon(fit, local(r, at)) - local(0, at);
      EXPECT_LE(std::abs(wrong), fit.error_ns + 2) << "rank " << r;
    }
    EXPECT_LT(fit.error_ns, 20'000);
  }
}

TEST_F(ReadJobTest, AnEvenJobHasNoCulprit) {
  const auto job = ReadJob(Write({.ranks = 8}).paths);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->answer.cause, Cause::kNone);
  EXPECT_THAT(Said(*job), testing::IsEmpty());
}

TEST_F(ReadJobTest, DuplicateAndMissingRanksAreReported) {
  WrittenRanks written = Write({.ranks = 6, .slow = 1});
  const std::string again = folder_ + "/again.db";
  std::filesystem::copy_file(written.paths[4], again);
  written.paths.push_back(again);
  written.paths.erase(written.paths.begin() + 2);
  const auto job = ReadJob(written.paths);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->ranks.size(), 5u);
  EXPECT_THAT(Said(*job), testing::IsSupersetOf({"rank_twice", "rank_missing"}));
  // Whom five of six wait for may be the sixth.
  EXPECT_EQ(job->answer.cause, Cause::kNoData);
  // Their clocks can be compared all the same.
  EXPECT_EQ(job->clocks.sets, 1u);
}

TEST_F(ReadJobTest, ProgramsWithNothingInCommonStayUnaligned) {
  const auto job = ReadJob(Write({.ranks = 4, .apart = true}).paths);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->clocks.sets, 2u);
  EXPECT_TRUE(SameTime(*job, 0, 2));
  EXPECT_FALSE(SameTime(*job, 0, 1));
  EXPECT_THAT(Said(*job), testing::IsSupersetOf({"clocks_not_aligned", "other_program"}));
}

TEST(UnpairedWords, SentenceHasTheNumberOfMissingRanks) {
  EXPECT_GOLDEN_TEXT(UnpairedWords(4, 2));
  EXPECT_GOLDEN_TEXT(UnpairedWords(4, 1));
  for (const int64_t known : {0, 4}) EXPECT_GOLDEN_TEXT(UnpairedWords(known, 8));
}

TEST_F(ReadJobTest, UnknownGroupsHaveNoCulprit) {
  const auto job = ReadJob(Write({.ranks = 8, .slow = 2, .group_size = 4}).paths);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->answer.cause, Cause::kNoData);
  EXPECT_GOLDEN_TEXT(WithoutFigures(Heading(*job) + "\n" + Sentence(*job)));
  EXPECT_THAT(Said(*job), testing::Contains("collectives_unpaired"));
}

// About 10 ms of a step of 58 ms are in such a collective; during startup, a rank waits 30 s.
TEST_F(ReadJobTest, WaitingDuringStartupIsNotPartOfSteps) {
  const auto share = [&](int64_t start_wait_ns) {
    const auto job = ReadJob(
        Write({.ranks = 8, .slow = 2, .group_size = 4, .start_wait_ns = start_wait_ns}).paths);
    EXPECT_TRUE(job);
    return Sentence(*job);
  };
  EXPECT_EQ(share(30'000'000'000), share(0));
}

// FSDP and DP: no collective has all ranks. 16 ranks, four shards of four, two ranks a host.
TEST_F(ReadJobTest, SlowRankIsNamedInASubgroup) {
  for (const bool across : {false, true}) {
    const auto job = ReadJob(Write({.ranks = 16, .slow = 6, .shard = 4, .across = across}).paths);
    ASSERT_TRUE(job) << job.error().message;
    EXPECT_EQ(job->answer.cause, Cause::kSlowGpu) << Sentence(*job);
    ASSERT_EQ(job->answer.ranks.size(), 1u);
    EXPECT_EQ(job->ranks[job->answer.ranks[0]].number, 6);
    EXPECT_NEAR(job->answer.cost_ns, 10e6, 1e6);
    EXPECT_EQ(job->clocks.sets, 1u);
    EXPECT_THAT(Said(*job), testing::IsEmpty());
  }
}

TEST_F(ReadJobTest, AnEvenJobOfGroupsHasNoCulprit) {
  for (const size_t shard : {2, 4, 8}) {
    const auto job = ReadJob(Write({.ranks = 16, .shard = shard}).paths);
    ASSERT_TRUE(job) << job.error().message;
    EXPECT_EQ(job->answer.cause, Cause::kNone) << Sentence(*job);
    EXPECT_THAT(Said(*job), testing::IsEmpty());
  }
}

TEST_F(ReadJobTest, SlowLinkOfAHostIsNamedAsLink) {
  const auto job = ReadJob(Write({.ranks = 16, .shard = 4, .slow_host = 5}).paths);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->answer.cause, Cause::kLink) << Sentence(*job);
  ASSERT_FALSE(job->answer.evidence.empty());
  EXPECT_THAT(job->answer.evidence.front(), testing::HasSubstr("host5"));
  EXPECT_GOLDEN_TEXT(WithoutFigures(job->answer.evidence.front()));
}

// Own times on the path by rank number. The largest difference between a step of the path and its
// duration by the clocks of the ranks.
struct PathOfJob {
  std::map<int64_t, int64_t> own_ns;
  int64_t exchange_ns = 0, worst_ns = 0;
};
PathOfJob OnPath(const Job& job) {
  PathOfJob path;
  std::map<int64_t, int64_t> of_step;
  for (const PathSegment& segment : job.path.segments) {
    path.own_ns[job.ranks[segment.rank].number] += segment.own_ns;
    path.exchange_ns += segment.exchange_ns;
    of_step[segment.step] += segment.own_ns + segment.exchange_ns;
  }
  EXPECT_EQ(of_step.size(), job.ranks[0].times.steps.size());
  for (const auto& [step, ns] : of_step) {
    for (const Rank& rank : job.ranks) {
      path.worst_ns = std::max(path.worst_ns, std::abs(ns - rank.times.steps.at(step).step_ns));
    }
  }
  return path;
}

TEST_F(ReadJobTest, PathRunsThroughTheSlowRank) {
  WrittenRanks written = Write({.ranks = 8, .slow = 5});
  std::reverse(written.paths.begin(), written.paths.end());
  const auto job = ReadJob(written.paths);
  ASSERT_TRUE(job) << job.error().message;
  ASSERT_EQ(job->path.why_not, "");
  const PathOfJob path = OnPath(*job);
  // Its 30 + 25 ms and a gap, and 2 ms of exchange, in each step; ranks begin and end steps within
  // 3 us.
  EXPECT_LE(path.worst_ns, 10'000);
  EXPECT_NEAR(static_cast<double>(path.own_ns.at(5)), 12 * 55.85e6, 12 * 0.4e6);
  EXPECT_NEAR(static_cast<double>(path.exchange_ns), 12 * 2e6, 12 * 3e3);
  for (const auto& [rank, ns] : path.own_ns) {
    if (rank == 5) continue;
    EXPECT_LT(ns, 1'000'000) << "rank " << rank;
  }
  const PathShare& share = job->path.shares[5];
  EXPECT_NEAR(static_cast<double>(share.lead_ns) / static_cast<double>(job->path.steps), 10e6,
              0.8e6);
}

TEST_F(ReadJobTest, PathOfAnEvenJobPrefersNoRank) {
  for (const size_t shard : {0, 4}) {
    const auto job = ReadJob(Write({.ranks = 16, .steps = 40, .shard = shard}).paths);
    ASSERT_TRUE(job) << job.error().message;
    ASSERT_EQ(job->path.why_not, "");
    const PathOfJob path = OnPath(*job);
    // 40 times one of 16 by chance: more than 10 times the same has a chance of 1 in 30,000.
    for (const auto& [rank, ns] : path.own_ns) EXPECT_LT(ns, 10 * 58'000'000) << "rank " << rank;
    std::vector<std::string> names;
    for (const Rank& rank : job->ranks) names.push_back(rank.name);
    // Which rank has most is random.
    std::string sentence = WithoutFigures(PathSentence(job->path, names));
    for (const std::string& name : names) {
      const size_t at = sentence.find(name);
      if (at != sentence.npos) sentence.replace(at, name.size(), "RANK");
    }
    EXPECT_GOLDEN_TEXT(sentence);
  }
}

TEST_F(ReadJobTest, PathOfSubgroupsRunsThroughTheSlowRank) {
  for (const bool across : {false, true}) {
    const auto job = ReadJob(Write({.ranks = 16, .slow = 6, .shard = 4, .across = across}).paths);
    ASSERT_TRUE(job) << job.error().message;
    ASSERT_EQ(job->path.why_not, "");
    const PathOfJob path = OnPath(*job);
    // Its product is on it in each step; who comes last afterwards is one of those that it held up.
    // Groups begin their steps by up to the 0.7 ms apart by which gaps differ.
    EXPECT_LE(path.worst_ns, 1'500'000);
    EXPECT_GE(path.own_ns.at(6), 12 * 29'900'000);
    for (const auto& [rank, ns] : path.own_ns) {
      if (rank == 6) continue;
      EXPECT_LT(ns, path.own_ns.at(6)) << "rank " << rank;
    }
  }
}

// The first 10 us of each collective are exposed. In parallel with the remaining time, other work
// runs to its end: computation, for which the rank does not wait, or a copy.
TEST_F(ReadJobTest, OnlyOverlappingComputationRemovesACollectiveFromThePath) {
  for (const bool copies : {false, true}) {
    const auto job =
        ReadJob(Write({.ranks = 4, .slow = 2, .beside = true, .copies = copies}).paths);
    ASSERT_TRUE(job) << job.error().message;
    ASSERT_EQ(job->path.why_not, "");
    const PathOfJob path = OnPath(*job);
    EXPECT_EQ(path.exchange_ns > 0, copies);
    // The rank that ends last, all along; or the one that comes last.
    ASSERT_EQ(path.own_ns.size(), 1u);
    EXPECT_TRUE(!copies || path.own_ns.contains(2));
  }
}

// Each of these jobs could have several paths, so that none is reported.
TEST_F(ReadJobTest, AmbiguousPathIsReplacedByItsReason) {
  const auto why_not = [&](const std::vector<std::string>& paths) {
    const auto job = ReadJob(paths);
    EXPECT_TRUE(job) << job.error().message;
    EXPECT_THAT(job->path.segments, testing::IsEmpty());
    return WithoutFigures(job->path.why_not);
  };
  EXPECT_GOLDEN_TEXT(why_not(Write({.ranks = 8, .group_size = 4}).paths));
  EXPECT_GOLDEN_TEXT(why_not(Write({.ranks = 12, .stages = 3, .long_stage = 1.5}).paths));
  EXPECT_GOLDEN_TEXT(why_not(Write({.ranks = 4, .apart = true, .group_size = 2}).paths));
  WrittenRanks written = Write({.ranks = 6});
  written.paths.erase(written.paths.begin() + 2);
  EXPECT_GOLDEN_TEXT(why_not(written.paths));
  EXPECT_GOLDEN_TEXT(why_not({written.paths.front()}));
}

// Each stage has its own program and reduces among its ranks. Sends and receives do not show
// waiting.
TEST_F(ReadJobTest, LongerPipelineStageIsBlamedOnTheProgram) {
  const auto job = ReadJob(Write({.ranks = 12, .stages = 3, .long_stage = 1.5}).paths);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->answer.cause, Cause::kProgram) << Sentence(*job);
  EXPECT_EQ(job->answer.ranks, (std::vector<size_t>{8, 9, 10, 11}));
  // Its product takes 10 of 30 ms more; spread over three stages it is 3.33 ms.
  EXPECT_NEAR(job->answer.cost_ns, 10e6 - 10e6 / 3, 0.2e6);
  EXPECT_EQ(job->answer.evidence.size(), 4u);
}

TEST_F(ReadJobTest, EvenStagesHaveNoCulprit) {
  const auto job = ReadJob(Write({.ranks = 12, .stages = 3}).paths);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->answer.cause, Cause::kNone) << Sentence(*job);
}

// A slow rank in one stage is not the stage.
TEST_F(ReadJobTest, SlowRankIsComparedWithItsStage) {
  const auto job = ReadJob(Write({.ranks = 12, .slow = 5, .stages = 3}).paths);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->answer.cause, Cause::kSlowGpu) << Sentence(*job);
  EXPECT_EQ(job->answer.ranks, std::vector<size_t>{5});
}

// Counted wrongly, its collectives would be paired with those of seven steps before.
TEST_F(ReadJobTest, LateRecordingIsAlignedByStepLengths) {
  const auto job = ReadJob(Write({.ranks = 8, .steps = 40, .slow = 5, .late = 3}).paths);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->ranks[3].step_shift, 7);
  EXPECT_EQ(job->ranks[4].step_shift, 0);
  EXPECT_EQ(job->answer.cause, Cause::kSlowGpu);
  EXPECT_EQ(job->answer.ranks, std::vector<size_t>{5});
  EXPECT_NEAR(job->answer.cost_ns, 10e6, 0.8e6);
  EXPECT_LT(job->clocks.clocks[job->ranks[3].clock].error_ns, 20'000);
  EXPECT_THAT(Said(*job), testing::ElementsAre("steps_renumbered"));
}

TEST_F(ReadJobTest, StepsWithEqualNumbersAreNotShifted) {
  for (const int64_t seed : {1, 2, 3, 4, 5}) {
    const auto job = ReadJob(Write({.ranks = 4, .steps = 40, .seed = seed}).paths);
    ASSERT_TRUE(job) << job.error().message;
    EXPECT_THAT(Said(*job), testing::IsEmpty());
  }
}

TEST_F(ReadJobTest, UnreadableFileIsNamedAndOthersAreUsed) {
  WrittenRanks written = Write({.ranks = 3});
  written.paths.push_back(folder_ + "/none.db");
  const auto job = ReadJob(written.paths);
  ASSERT_TRUE(job) << job.error().message;
  ASSERT_EQ(job->skipped.size(), 1u);
  EXPECT_THAT(job->skipped[0].message, testing::HasSubstr("none.db"));
  EXPECT_FALSE(ReadJob({folder_ + "/none.db"}));
}

}  // namespace
}  // namespace xlatrace::fleet
