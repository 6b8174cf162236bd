// SPDX-License-Identifier: Apache-2.0
#include "fleet/pipeline.h"

#include <gtest/gtest.h>

namespace xlatrace::fleet {
namespace {

// Equal stages: (micro-batches + stages - 1) times one of them (Narayanan and others 2021).
TEST(PipelineTime, TimeOfEqualStagesEqualsTheFormula) {
  for (const int64_t micro_batches : {1, 4, 32}) {
    for (const size_t stages : {1u, 2u, 4u, 8u}) {
      const std::vector<StageTimes> equal(stages, {10, 20});
      EXPECT_DOUBLE_EQ(
          PipelineTime(equal, micro_batches),
          30.0 * (static_cast<double>(micro_batches) + static_cast<double>(stages) - 1));
    }
  }
}

// By hand: the last stage takes 6 instead of 3 per micro-batch. It never waits after the first
// forward has arrived (1 + 1). Its last backward goes back through two stages (2 + 2).
TEST(PipelineTime, LongLastStageDeterminesTheTime) {
  EXPECT_DOUBLE_EQ(PipelineTime({{1, 2}, {1, 2}, {2, 4}}, 5), 2 + 5 * 6 + 4);
}

TEST(Balance, SlowWorkerIsComparedWithItsPeers) {
  const std::vector<StageTimes> plain(4, {100, 200});
  std::vector<StageTimes> slow = plain;
  slow[1] = {200, 400};
  const PipelineAnswer answer =
      Balance({.pipelines = {plain, slow, plain}, .micro_batches = 8, .step_ns = 6000});
  EXPECT_EQ(answer.pipeline, 1u);
  EXPECT_EQ(answer.stage, 1u);
  EXPECT_DOUBLE_EQ(answer.against_peers, 2);
  EXPECT_DOUBLE_EQ(answer.against_stages, 1);
  // The step is at least the need of the slow stage alone (one forward before it, one backward
  // after it). It is at most all stages in sequence once, and the slow one seven times more. Even
  // stages: 11 times 325.
  EXPECT_GE(answer.slowdown, 6000 / (6000 - (100 + 8 * 600 + 200 - 11 * 325.0)));
  EXPECT_LE(answer.slowdown, 6000 / (6000 - (3 * 300 + 8 * 600 - 11 * 325.0)));
}

TEST(Balance, LongStageIsComparedWithOtherStages) {
  const std::vector<StageTimes> stages = {{100, 200}, {100, 200}, {150, 300}};
  const PipelineAnswer answer =
      Balance({.pipelines = {stages, stages}, .micro_batches = 4, .step_ns = 2500});
  EXPECT_EQ(answer.stage, 2u);
  EXPECT_DOUBLE_EQ(answer.against_peers, 1);
  EXPECT_DOUBLE_EQ(answer.against_stages, 1.5);
  EXPECT_GT(answer.idle_share[0], answer.idle_share[2]);
}

TEST(Balance, EvenOrUnpipelinedJobHasNoSlowdown) {
  const std::vector<StageTimes> plain(4, {100, 200});
  EXPECT_DOUBLE_EQ(
      Balance({.pipelines = {plain, plain}, .micro_batches = 8, .step_ns = 4000}).slowdown, 1);
  EXPECT_DOUBLE_EQ(Balance({}).slowdown, 1);
  EXPECT_DOUBLE_EQ(
      Balance({.pipelines = {plain, {{1, 1}}}, .micro_batches = 8, .step_ns = 4000}).slowdown, 1);
}

}  // namespace
}  // namespace xlatrace::fleet
