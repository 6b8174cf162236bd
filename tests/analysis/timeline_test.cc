// SPDX-License-Identifier: Apache-2.0

// Segments, busy time, gaps, step parts and collectives of small devices, worked out by hand.

#include "analysis/timeline.h"

#include <map>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/busy.h"
#include "analysis/collectives.h"
#include "analysis/gaps.h"
#include "analysis/step_parts.h"
#include "analysis/time_split.h"
#include "tests/analysis/run_builder.h"

namespace xlatrace::analysis {
namespace {

using model::ActivityKind;
using model::OpKind;
using model::Phase;
using model::StepPart;
using testing::ElementsAre;

using FlatSegment = std::tuple<int64_t, int64_t, std::vector<uint32_t>>;

std::vector<FlatSegment> Segments(const model::RunTables& run) {
  std::vector<FlatSegment> segments;
  ForEachSegment(run, ActivitiesByDevice(run)[0], [&](const Segment& segment) {
    segments.emplace_back(segment.start_ns, segment.end_ns,
                          std::vector<uint32_t>(segment.owners.begin(), segment.owners.end()));
  });
  return segments;
}

TEST(Segments, InnermostActivityOwnsTheLane) {
  RunBuilder b;
  const auto lane = b.AddLane(b.AddDevice());
  b.AddActivity(lane, 0, 100, {});  // A loop,
  b.AddActivity(lane, 10, 30, {});  // and what its body runs.
  b.AddActivity(lane, 40, 60, {});
  EXPECT_THAT(Segments(b.run), ElementsAre(FlatSegment{0, 10, {0}}, FlatSegment{10, 30, {1}},
                                           FlatSegment{30, 40, {0}}, FlatSegment{40, 60, {2}},
                                           FlatSegment{60, 100, {0}}));
}

TEST(Segments, ParallelLanesGiveOneSegmentPerSetOfActivities) {
  RunBuilder b;
  const auto device = b.AddDevice();
  const auto one = b.AddLane(device);
  const auto two = b.AddLane(device);
  b.AddActivity(two, 5, 15, {});
  b.AddActivity(one, 0, 10, {});
  EXPECT_THAT(Segments(b.run), ElementsAre(FlatSegment{0, 5, {1}}, FlatSegment{5, 10, {1, 0}},
                                           FlatSegment{10, 15, {0}}));
}

TEST(Segments, EmptyActivitiesOwnNothing) {
  RunBuilder b;
  const auto lane = b.AddLane(b.AddDevice());
  b.AddActivity(lane, 5, 5, {});
  b.AddActivity(lane, 7, 9, {});
  EXPECT_THAT(Segments(b.run), ElementsAre(FlatSegment{7, 9, {1}}));
}

TEST(Segments, PartialOverlapOnOneLaneBelongsToTheEarlierOne) {
  RunBuilder b;
  const auto lane = b.AddLane(b.AddDevice());
  b.AddActivity(lane, 0, 10, {});
  b.AddActivity(lane, 6, 20, {});
  b.AddActivity(lane, 19, 30, {});
  EXPECT_THAT(Segments(b.run),
              ElementsAre(FlatSegment{0, 6, {0}}, FlatSegment{6, 10, {0}}, FlatSegment{10, 19, {1}},
                          FlatSegment{19, 20, {1}}, FlatSegment{20, 30, {2}}));
}

TEST(Segments, PartialOverlapOfRangesBelongsToTheLaterOne) {
  RunBuilder b;
  const auto lane = b.AddLane(b.AddDevice());
  b.AddActivity(lane, 0, 10, {.kind = ActivityKind::kRange});
  b.AddActivity(lane, 6, 20, {.kind = ActivityKind::kRange});
  EXPECT_THAT(Segments(b.run), ElementsAre(FlatSegment{0, 6, {0}}, FlatSegment{6, 20, {1}}));
}

TEST(Segments, NestedActivityOwnsTheLaneDuringAPartialOverlap) {
  RunBuilder b;
  const auto lane = b.AddLane(b.AddDevice());
  b.AddActivity(lane, 0, 20, {});
  b.AddActivity(lane, 10, 40, {});
  b.AddActivity(lane, 12, 15, {});
  EXPECT_THAT(Segments(b.run), ElementsAre(FlatSegment{0, 10, {0}}, FlatSegment{10, 12, {0}},
                                           FlatSegment{12, 15, {2}}, FlatSegment{15, 20, {0}},
                                           FlatSegment{20, 40, {1}}));
}

// Two streams: computations 0-40 and 60-80; a collective 30-70; a copy 75-100; idle 100-2100;
// another computation 2100-2110.
struct Scene {
  Scene() {
    const auto device = b.AddDevice();
    const auto compute = b.AddLane(device);
    const auto communication = b.AddLane(device);
    const auto copies = b.AddLane(device);
    const auto module = b.AddModule();
    const auto forward = b.AddInstruction(module, Phase::kForward);
    const auto backward = b.AddInstruction(module, Phase::kBackward);
    const auto reduce = b.AddInstruction(module, Phase::kBackward, OpKind::kCollective);
    b.attribution.instructions.back().opcode = "all-reduce-start";
    b.attribution.instructions.back().shape = "f32[1024]{0}";
    b.AddActivity(compute, 0, 40, {.instruction = forward});
    b.AddActivity(communication, 30, 70, {.instruction = reduce});
    b.AddActivity(compute, 60, 80, {.instruction = backward});
    b.AddActivity(copies, 75, 100,
                  {.kind = ActivityKind::kMemcpy, .reason = model::Reason::kTransfer});
    b.AddActivity(compute, 2100, 2110, {.instruction = forward});
  }
  RunBuilder b;
};

TEST(Busy, BusyTimeIsAUnionAndExposedTimeADifference) {
  Scene scene;
  const auto classes = ClassifyActivities(scene.b.run, scene.b.attribution);
  BusyTime busy(classes);
  ForEachSegment(scene.b.run, ActivitiesByDevice(scene.b.run)[0],
                 [&](const Segment& segment) { busy.Add(segment); });
  const model::BusyTimeRow row = busy.Row(1, 40 + 40 + 20 + 25 + 10, {{50, 90}, {2105, 3000}}, 0);
  EXPECT_EQ(row.start_ns, 0);
  EXPECT_EQ(row.end_ns, 2110);
  EXPECT_EQ(row.busy_ns, 110);
  EXPECT_EQ(row.idle_ns, 2000);
  EXPECT_EQ(row.overlap_ns, 25);  // 30-40, 60-70, 75-80.
  EXPECT_EQ(row.compute_ns, 70);
  EXPECT_EQ(row.collective_ns, 40);
  EXPECT_EQ(row.exposed_collective_ns, 20);  // 40-60.
  EXPECT_EQ(row.copy_ns, 25);
  EXPECT_EQ(row.exposed_copy_ns, 20);  // 80-100.
  EXPECT_EQ(row.steady_busy_ns, 45);   // 50-90 and 2105-2110.
}

TEST(Gaps, GapOfAtLeastOneMicrosecondIsListedWithNeighbours) {
  Scene scene;
  const Intervals compiles = {{500, 1600}};
  std::vector<model::GapRow> rows;
  const model::Recorded recorded({});
  GapFinder gaps(scene.b.run, 1, compiles, recorded, rows);
  ForEachSegment(scene.b.run, ActivitiesByDevice(scene.b.run)[0],
                 [&](const Segment& segment) { gaps.Add(segment); });
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].start_ns, 100);
  EXPECT_EQ(rows[0].end_ns, 2100);
  EXPECT_EQ(rows[0].previous_activity_id, 4);
  EXPECT_EQ(rows[0].next_activity_id, 5);
  EXPECT_EQ(rows[0].cause, model::GapCause::kCompile);  // 1100 of 2000 ns.
}

TEST(Gaps, ShorterGapsAreOnlyCounted) {
  RunBuilder b;
  const auto lane = b.AddLane(b.AddDevice());
  b.AddActivity(lane, 0, 10, {});
  b.AddActivity(lane, 1009, 1020, {});
  b.AddActivity(lane, 2020, 2030, {});
  const Intervals none;
  std::vector<model::GapRow> rows;
  const model::Recorded recorded({});
  GapFinder gaps(b.run, 1, none, recorded, rows);
  ForEachSegment(b.run, ActivitiesByDevice(b.run)[0],
                 [&](const Segment& segment) { gaps.Add(segment); });
  EXPECT_EQ(gaps.small_gaps(), 1);
  EXPECT_EQ(gaps.small_gaps_ns(), 999);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].cause, model::GapCause::kUnknown);
}

TEST(Gaps, PauseOfTheRecordingIsNotAGap) {
  RunBuilder b;
  const auto lane = b.AddLane(b.AddDevice());
  b.AddActivity(lane, 0, 10'000, {});
  b.AddActivity(lane, 13'000, 20'000, {});    // 3 us idle.
  b.AddActivity(lane, 900'000, 910'000, {});  // After a pause.
  const Intervals none;
  const model::Recorded recorded({{1, 0, 25'000, model::WindowEnd::kRequested},
                                  {1, 890'000, 910'000, model::WindowEnd::kEnd}});
  std::vector<model::GapRow> rows;
  GapFinder gaps(b.run, 1, none, recorded, rows);
  const auto classes = ClassifyActivities(b.run, b.attribution);
  BusyTime busy(classes);
  ForEachSegment(b.run, ActivitiesByDevice(b.run)[0], [&](const Segment& segment) {
    gaps.Add(segment);
    busy.Add(segment);
  });
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].start_ns, 10'000);
  EXPECT_EQ(gaps.interrupted_ns(), 880'000);
  EXPECT_EQ(busy.Row(1, 27'000, {}, gaps.interrupted_ns()).idle_ns, 3'000);
}

// A process without complete data has a window of length zero and no idle time. Adjacent windows do
// not make a gap.
TEST(Gaps, IncompleteRecordingHasNoGaps) {
  RunBuilder b;
  const auto lane = b.AddLane(b.AddDevice());
  b.AddActivity(lane, 0, 10'000, {});
  b.AddActivity(lane, 13'000, 20'000, {});
  const Intervals none;
  const auto gaps_of = [&](const model::Recorded& recorded) {
    std::vector<model::GapRow> rows;
    GapFinder gaps(b.run, 1, none, recorded, rows);
    ForEachSegment(b.run, ActivitiesByDevice(b.run)[0],
                   [&](const Segment& segment) { gaps.Add(segment); });
    return std::pair(rows.size(), gaps.interrupted_ns());
  };
  using Found = std::pair<size_t, int64_t>;
  EXPECT_EQ(gaps_of(model::Recorded({})), Found(1, 0));
  EXPECT_EQ(gaps_of(model::Recorded({{1, 0, 0, model::WindowEnd::kLoss}})), Found(0, 3'000));
  EXPECT_EQ(gaps_of(model::Recorded({{1, 0, 12'000, model::WindowEnd::kLoss},
                                     {1, 12'000, 20'000, model::WindowEnd::kEnd}})),
            Found(0, 3'000));
}

std::map<StepPart, int64_t> Parts(const RunBuilder& b, int64_t start, int64_t end) {
  const auto classes = ClassifyActivities(b.run, b.attribution);
  const TimeSplit split(b.attribution);
  model::StepRow step;
  step.device_id = 1;
  step.start_ns = start;
  step.end_ns = end;
  StepParts parts(classes, b.attribution, split, {step});
  ForEachSegment(b.run, ActivitiesByDevice(b.run)[0],
                 [&](const Segment& segment) { parts.Add(segment); });
  std::map<StepPart, int64_t> result;
  for (const model::StepPartRow& row : parts.Rows()) {
    if (row.wall_ns != 0) result[row.part] = row.wall_ns;
  }
  return result;
}

TEST(StepParts, EveryInstantBelongsToOnePart) {
  Scene scene;
  // From 10 to 150: forward 10-40, collective 40-60, backward 60-80, copy 80-100, idle 100-150.
  EXPECT_EQ(Parts(scene.b, 10, 150),
            (std::map<StepPart, int64_t>{{StepPart::kForward, 30},
                                         {StepPart::kExposedCollective, 20},
                                         {StepPart::kBackward, 20},
                                         {StepPart::kExposedCopy, 20},
                                         {StepPart::kIdle, 50}}));
}

TEST(StepParts, ParallelComputationsShareTheInstant) {
  RunBuilder b;
  const auto device = b.AddDevice();
  const auto module = b.AddModule();
  const auto forward = b.AddInstruction(module, Phase::kForward);
  const auto backward = b.AddInstruction(module, Phase::kBackward);
  b.AddActivity(b.AddLane(device), 0, 90, {.instruction = forward});
  b.AddActivity(b.AddLane(device), 0, 60, {.instruction = backward});
  b.AddActivity(b.AddLane(device), 0, 30, {.instruction = backward});
  // 0-30: 10 forward, 20 backward; 30-60: 15 each; 60-90: 30 forward.
  EXPECT_EQ(Parts(b, 0, 90),
            (std::map<StepPart, int64_t>{{StepPart::kForward, 55}, {StepPart::kBackward, 35}}));
}

TEST(StepParts, SharesDivideAnInstruction) {
  RunBuilder b;
  const auto device = b.AddDevice();
  const auto mixed = b.AddInstruction(b.AddModule(), Phase::kBackward);
  b.AddShare(mixed, Phase::kBackward, 700'000);
  b.AddShare(mixed, Phase::kOptimizer, 300'000);
  b.AddActivity(b.AddLane(device), 0, 10, {.instruction = mixed});
  EXPECT_EQ(Parts(b, 0, 10),
            (std::map<StepPart, int64_t>{{StepPart::kBackward, 7}, {StepPart::kOptimizer, 3}}));
}

TEST(StepParts, RoundingLosesNothing) {
  RunBuilder b;
  const auto device = b.AddDevice();
  const auto module = b.AddModule();
  for (const Phase phase : {Phase::kForward, Phase::kBackward, Phase::kOptimizer}) {
    b.AddActivity(b.AddLane(device), 0, 100, {.instruction = b.AddInstruction(module, phase)});
  }
  int64_t sum = 0;
  for (const auto& [part, ns] : Parts(b, 0, 100)) {
    EXPECT_GE(ns, 33);
    EXPECT_LE(ns, 34);
    sum += ns;
  }
  EXPECT_EQ(sum, 100);
}

TEST(StepParts, StepsOfMoreThanHoursDoNotOverflow) {
  RunBuilder b;
  const auto forward = b.AddInstruction(b.AddModule(), Phase::kForward);
  constexpr int64_t kDay = int64_t{86'400} * 1'000'000'000;
  b.AddActivity(b.AddLane(b.AddDevice()), 0, kDay, {.instruction = forward});
  EXPECT_EQ(Parts(b, 0, 2 * kDay),
            (std::map<StepPart, int64_t>{{StepPart::kForward, kDay}, {StepPart::kIdle, kDay}}));
}

TEST(Collectives, CollectivesHaveBytesAndExposedTime) {
  Scene scene;
  const auto classes = ClassifyActivities(scene.b.run, scene.b.attribution);
  const RunFacts facts(scene.b.run, scene.b.attribution);
  Collectives collectives(scene.b.run, scene.b.attribution, classes, facts);
  ForEachSegment(scene.b.run, ActivitiesByDevice(scene.b.run)[0],
                 [&](const Segment& segment) { collectives.Add(segment); });
  const auto rows = collectives.Rows({});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].activity_id, 2);
  EXPECT_EQ(rows[0].op, "all-reduce");
  EXPECT_EQ(rows[0].bytes, 4096);
  EXPECT_EQ(rows[0].exposed_ns, 20);
  EXPECT_EQ(rows[0].group_size, std::nullopt);
}

TEST(Classes, NcclKernelsAreCollectivesEvenWithoutAnInstruction) {
  RunBuilder b;
  const auto lane = b.AddLane(b.AddDevice());
  b.AddActivity(lane, 0, 1, {.symbol = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"});
  b.AddActivity(lane, 1, 2, {.kind = ActivityKind::kMemset});
  b.AddActivity(lane, 2, 3, {.symbol = "loop_add_fusion"});
  // Nsight Systems gives the mangled name as the symbol.
  const size_t mangled = b.AddActivity(lane, 3, 4, {.symbol = "_Z22ncclDevKernel_SendRecvv"});
  b.run.configs[b.run.activities.config[mangled] - 1].name = "ncclDevKernel_SendRecv";
  EXPECT_THAT(ClassifyActivities(b.run, b.attribution),
              ElementsAre(ActivityClass::kCollective, ActivityClass::kCopy, ActivityClass::kCompute,
                          ActivityClass::kCollective));
}

}  // namespace
}  // namespace xlatrace::analysis
