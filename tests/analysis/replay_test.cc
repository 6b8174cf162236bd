// SPDX-License-Identifier: Apache-2.0
#include "analysis/replay/replay.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/analysis/replay_case.h"

namespace xlatrace::analysis::replay {
namespace {

constexpr int64_t kUs = 1'000;

// Three steps of 100 us: a (60 us) and b (38 us) on one stream, 1 us between all.
void ThreeSteps(ReplayCase& run) {
  const uint32_t a = run.Op("a"), b = run.Op("b", "a");
  for (int64_t s = 0; s < 3; ++s) {
    run.Run(a, s * 100 * kUs, 60 * kUs);
    run.Run(b, (s * 100 + 61) * kUs, 38 * kUs);
  }
  for (int64_t s = 0; s < 3; ++s) {
    run.Step(s, s * 100 * kUs, s == 2 ? 299 * kUs : (s + 1) * 100 * kUs);
  }
}

void ExpectRecorded(const Graph& graph) {
  const Times times = Replay(graph);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    EXPECT_EQ(times.start_ns[n], graph.nodes[n].start_ns) << n;
  }
}

TEST(Replay, UnchangedReplayGivesTheRecordedTimes) {
  ReplayCase run;
  ThreeSteps(run);
  const Graph& graph = run.Build();
  ExpectRecorded(graph);
  ASSERT_EQ(graph.spans.size(), 3u);
  EXPECT_EQ(LengthOf(graph.spans[0], Replay(graph)), 100 * kUs);
  EXPECT_EQ(LengthOf(graph.spans[2], Replay(graph)), 99 * kUs);
  EXPECT_EQ(MeasureError(graph, run.input())->milli_pct, 0);
}

TEST(Replay, HalvedOpShortensASingleStreamStepByItsSaving) {
  ReplayCase run;
  ThreeSteps(run);
  run.Build();
  Change change;
  change.instructions[1] = 0.5;
  // The first two steps count, of 100 us each. The last one has no duration.
  EXPECT_EQ(run.What(change).predicted_ns, 70'000);
  EXPECT_EQ(run.What(change).recorded_ns, 100'000);
}

// The remaining ops may find their data in the caches: up to 15 % of the removed time, here 30 of
// 100 us.
TEST(Replay, OnACpuTheIntervalAllowsForCaches) {
  ReplayCase device, cpu;
  cpu.run().devices[0].kind = model::DeviceKind::kCpu;
  Change faster, slower;
  faster.instructions[1] = 0.5;
  slower.instructions[1] = 2;
  std::map<const ReplayCase*, int64_t> room;
  for (ReplayCase* run : {&device, &cpu}) {
    ThreeSteps(*run);
    run->Build();
    EXPECT_EQ(run->What(faster).predicted_ns, 70'000);
    room[run] = run->What(faster).predicted_ns - run->What(faster).low_ns;
    EXPECT_EQ(run->What(slower).predicted_ns - run->What(slower).low_ns, room[&device]);
  }
  EXPECT_EQ(room[&cpu] - room[&device], std::llround(0.15 * 30.0 / 100 * 70'000));
  EXPECT_EQ(cpu.What(faster).high_ns, device.What(faster).high_ns);
}

TEST(Replay, RemovedOpAlsoRemovesItsGap) {
  ReplayCase run;
  ThreeSteps(run);
  run.Build();
  Change change;
  change.instructions[2] = 0;
  // a and the microsecond before the next one; the last step is a alone.
  EXPECT_EQ(run.What(change).predicted_ns, 61 * kUs);
}

TEST(Replay, StepSurvivesRemovalOfItsFirstOp) {
  ReplayCase run;
  ThreeSteps(run);
  run.Build();
  Change change;
  change.instructions[1] = 0;
  EXPECT_EQ(run.What(change).predicted_ns, 39 * kUs);
}

// c needs a (80 us, stream 0) and b (50 us, stream 1).
void TwoStreams(ReplayCase& run) {
  const uint32_t a = run.Op("a"), b = run.Op("b"), c = run.Op("c", "a, b");
  for (int64_t s = 0; s < 4; ++s) {
    const int64_t at = s * 101 * kUs;
    const int64_t called = -1'000 * kUs + s * 15 * kUs;  // The host is ahead.
    run.Run(a, at, 80 * kUs, {.stream = 0, .called_ns = called});
    run.Run(b, at, 50 * kUs, {.stream = 1, .called_ns = called + 5 * kUs});
    run.Run(c, at + 81 * kUs, 19 * kUs, {.stream = 0, .called_ns = called + 10 * kUs});
  }
  for (int64_t s = 0; s < 4; ++s) {
    run.Step(s, s * 101 * kUs, s == 3 ? (s * 101 + 100) * kUs : (s + 1) * 101 * kUs);
  }
}

TEST(Replay, OpOffTheCriticalPathSavesNothingWithinItsSlack) {
  ReplayCase run;
  TwoStreams(run);
  run.Build();
  Change faster, slower, much_slower;
  faster.instructions[2] = 0.1;
  slower.instructions[2] = 1.5;       // 75 us: still before a.
  much_slower.instructions[2] = 2.0;  // 100 us: 20 us after a.
  EXPECT_EQ(run.What(faster).predicted_ns, run.What(faster).recorded_ns);
  EXPECT_EQ(run.What(slower).predicted_ns, run.What(slower).recorded_ns);
  EXPECT_EQ(run.What(much_slower).predicted_ns, run.What(much_slower).recorded_ns + 20 * kUs);
}

TEST(Replay, SecondStreamLimitsTheStepOnceTheFirstIsFast) {
  ReplayCase run;
  TwoStreams(run);
  run.Build();
  Change change;
  change.instructions[1] = 0.25;  // 20 us; b takes 50.
  EXPECT_EQ(run.What(change).predicted_ns, run.What(change).recorded_ns - 30 * kUs);
}

TEST(Replay, HostThatLimitsTheStepStaysTheLimit) {
  ReplayCase run(1, 1);
  const uint32_t a = run.Op("a");
  for (int64_t i = 0; i < 40; ++i) {
    run.Run(a, i * 60 * kUs + 5 * kUs, 20 * kUs, {.called_ns = i * 60 * kUs});
  }
  for (int64_t s = 0; s < 4; ++s) {
    run.Step(s, (s * 600 + 5) * kUs, s == 3 ? (39 * 60 + 25) * kUs : ((s + 1) * 600 + 5) * kUs);
  }
  ExpectRecorded(run.Build());
  Change faster;
  faster.instructions[1] = 0.5;
  EXPECT_GE(run.What(faster).predicted_ns, 590 * kUs);
  Change closed;
  for (size_t c = 0; c < model::Texts<model::GapCause>().size(); ++c) {
    closed.gaps.push_back(static_cast<model::GapCause>(c));
  }
  EXPECT_LT(run.What(closed).predicted_ns, 10 * (20 + 6) * kUs);
}

TEST(Replay, CallJustAfterTheDeviceFinishedMeansTheHostWaited) {
  ReplayCase run(1, 1);
  const uint32_t a = run.Op("a");
  for (int64_t s = 0; s < 5; ++s) {
    run.Run(a, s * 1'000 * kUs, 900 * kUs, {.called_ns = (s * 1'000 - 50) * kUs});
  }
  for (int64_t s = 0; s < 5; ++s) {
    run.Step(s, s * 1'000 * kUs, s == 4 ? 4'900 * kUs : (s + 1) * 1'000 * kUs);
  }
  ExpectRecorded(run.Build());
  Change change;
  change.instructions[1] = 0.5;
  EXPECT_EQ(run.What(change).predicted_ns, 550 * kUs);
}

TEST(Replay, UnknownWaitOfTheHostWidensTheInterval) {
  ReplayCase run(1, 1);
  const uint32_t a = run.Op("a");
  for (int64_t s = 0; s < 5; ++s) {
    run.Run(a, s * 4'000 * kUs, 900 * kUs, {.called_ns = (s * 4'000 - 10) * kUs});
  }
  for (int64_t s = 0; s < 5; ++s) {
    run.Step(s, s * 4'000 * kUs, s == 4 ? 16'900 * kUs : (s + 1) * 4'000 * kUs);
  }
  run.Build();
  Change change;
  change.instructions[1] = 0.5;
  const Prediction prediction = run.What(change);
  EXPECT_LE(prediction.low_ns, 3'550 * kUs);   // The host waited, then slept 3.1 ms.
  EXPECT_GE(prediction.high_ns, 3'999 * kUs);  // The host slept while the device ran.
}

// Every second step takes three times as long: what a step takes is neither the one nor the other.
TEST(Replay, StepsOfTwoLengthsArePredictedByTheirMean) {
  ReplayCase run(1, 1);
  const uint32_t a = run.Op("a");
  int64_t at = 0;
  for (int64_t s = 0; s < 10; ++s) {
    const int64_t length = (s % 2 == 0 ? 100 : 300) * kUs;
    run.Run(a, at, length);
    run.Step(s, at, at + length);
    at += length;
  }
  run.Build();
  Change change;
  change.instructions[1] = 0.5;
  const Prediction prediction = run.What(change);
  // Without the last, five take 100 us and four 300.
  EXPECT_EQ(prediction.recorded_ns, 1'700 * kUs / 9);
  EXPECT_EQ(prediction.predicted_ns, 850 * kUs / 9);
}

TEST(Replay, CollectiveBeginsWhenItsLastDeviceArrives) {
  ReplayCase run(2, 1);
  const uint32_t a = run.Op("a"), sum = run.Op("all-reduce.1", "a", model::OpKind::kCollective);
  for (int64_t s = 0; s < 3; ++s) {
    const int64_t at = s * 200 * kUs;
    for (const int device : {1, 2}) {
      const int64_t late = device == 2 ? 50 * kUs : 0;
      run.Run(a, at, 100 * kUs + late, {.device = device});
      run.Run(sum, at + 101 * kUs + late, 90 * kUs - late, {.device = device});
    }
  }
  for (const int device : {1, 2}) {
    for (int64_t s = 0; s < 3; ++s) {
      run.Step(s, s * 200 * kUs, s == 2 ? 591 * kUs : (s + 1) * 200 * kUs, device);
    }
  }
  const Graph& graph = run.Build();
  ExpectRecorded(graph);
  EXPECT_EQ(graph.groups.size(), 4u);  // One group per step; steps count from 1.
  // 50 of 90 us are waiting: twice the bandwidth saves half of 40.
  Change change;
  change.collective_bandwidth = 2;
  EXPECT_EQ(run.What(change).predicted_ns, run.What(change).recorded_ns - 20 * kUs);
}

// Runs of one name that do not overlap are no exchange.
TEST(Replay, CollectivesThatDoNotOverlapKeepTheirTimes) {
  ReplayCase run(2, 1);
  const uint32_t sum = run.Op("all-reduce.1", "", model::OpKind::kCollective), a = run.Op("a");
  for (int64_t s = 0; s < 3; ++s) {
    const int64_t at = s * 200 * kUs;
    run.Run(sum, at, 40 * kUs, {.device = 1});
    run.Run(a, at + 41 * kUs, 100 * kUs, {.device = 1});
    run.Run(a, at, 100 * kUs, {.device = 2});
    run.Run(sum, at + 101 * kUs, 40 * kUs, {.device = 2});
  }
  for (const int device : {1, 2}) {
    for (int64_t s = 0; s < 3; ++s) {
      run.Step(s, s * 200 * kUs, s == 2 ? 541 * kUs : (s + 1) * 200 * kUs, device);
    }
  }
  const Graph& graph = run.Build();
  ExpectRecorded(graph);
  EXPECT_EQ(graph.groups.size(), 1u);
  for (const Node& node : graph.nodes) EXPECT_GE(node.duration_ns, 0);
}

TEST(Replay, NestedActivityIsPartOfItsOuterActivity) {
  ReplayCase run(1, 1);
  const uint32_t loop = run.Op("while.1"), body = run.Op("dot.2");
  for (int64_t s = 0; s < 3; ++s) {
    const int64_t at = s * 100 * kUs;
    run.Run(loop, at, 99 * kUs, {.self_ns = 39 * kUs});
    run.Run(body, at + 10 * kUs, 30 * kUs);
    run.Run(body, at + 50 * kUs, 30 * kUs);
  }
  for (int64_t s = 0; s < 3; ++s) {
    run.Step(s, s * 100 * kUs, s == 2 ? 299 * kUs : (s + 1) * 100 * kUs);
  }
  ExpectRecorded(run.Build());
  Change half_body, half_loop;
  half_body.instructions[body] = 0.5;
  half_loop.instructions[loop] = 0.5;
  EXPECT_EQ(run.What(half_body).predicted_ns, 100'000 - 30 * kUs);
  EXPECT_EQ(run.What(half_loop).predicted_ns, 100'000 - 49'500);
}

TEST(Replay, BranchesOfAGraphRunSideBySide) {
  ReplayCase run(1, 1);
  const uint32_t a = run.Op("a"), b = run.Op("b");
  for (int64_t s = 0; s < 3; ++s) {
    const int64_t at = s * 301 * kUs;
    const int64_t called = -1'000 * kUs + s * 15 * kUs;  // The host is ahead.
    run.Run(a, at, 300 * kUs, {.called_ns = called, .graph_node = 1});
    run.Run(b, at, 200 * kUs, {.called_ns = called, .graph_node = 2});
  }
  for (int64_t s = 0; s < 3; ++s) {
    run.Step(s, s * 301 * kUs, s == 2 ? (602 + 300) * kUs : (s + 1) * 301 * kUs);
  }
  ExpectRecorded(run.Build());
  Change faster_a, faster_b;
  faster_a.instructions[a] = 0.25;
  faster_b.instructions[b] = 0.25;
  EXPECT_NEAR(static_cast<double>(run.What(faster_a).predicted_ns), 200'500, 1'000);
  EXPECT_EQ(run.What(faster_b).predicted_ns, run.What(faster_b).recorded_ns);
}

TEST(Replay, EmptyRunHasNoSpans) {
  ReplayCase run;
  EXPECT_TRUE(run.Build().spans.empty());
  const uint32_t a = run.Op("a");
  run.Run(a, 5, 10);
  run.run().activities.timing = {model::Timing::kUnknown};
  EXPECT_TRUE(run.Build().spans.empty());
}

TEST(Replay, RunWithoutStepsIsOneSpan) {
  ReplayCase run;
  const uint32_t a = run.Op("a");
  for (int64_t i = 0; i < 5; ++i) run.Run(a, i * 10 * kUs, 9 * kUs);
  const Graph& graph = run.Build();
  ASSERT_EQ(graph.spans.size(), 1u);
  EXPECT_TRUE(graph.whole_run);
  EXPECT_EQ(LengthOf(graph.spans[0], Replay(graph)), 49 * kUs);
}

// Runs of random lanes, calls and operands, and what holds for all of them.
class ReplayProperties : public testing::TestWithParam<uint32_t> {
 protected:
  void SetUp() override {
    std::mt19937 random(GetParam());
    const auto below = [&](int64_t most) {
      return static_cast<int64_t>(random() % static_cast<uint64_t>(most));
    };
    for (int op = 1; op <= 9; ++op) {
      std::string operands;
      if (op > 2) operands = "op" + std::to_string(1 + below(op - 1));
      run_.Op("op" + std::to_string(op), operands);
    }
    int64_t host = 0, free[2] = {0, 0}, first = -1;
    std::vector<int64_t> starts;
    for (int s = 0; s < 4; ++s) {
      for (int i = 0; i < 12; ++i) {
        const int stream = static_cast<int>(below(2));
        host += 1'000 + below(20'000);
        const int64_t start = std::max(host + 3'000, free[stream] + 500 + below(1'500));
        const int64_t duration = 1 + below(40'000);
        run_.Run(static_cast<uint32_t>(1 + below(9)), start, duration,
                 {.stream = stream, .called_ns = host, .call_ns = 500});
        free[stream] = start + duration;
        if (i == 0) starts.push_back(start);
        if (first < 0) first = start;
      }
      host = std::max(host, std::max(free[0], free[1]) - 10'000);
      free[0] = free[1] = std::max({free[0], free[1], host});
    }
    starts.push_back(std::max(free[0], free[1]));
    for (int s = 0; s < 4; ++s) run_.Step(s, starts[s], starts[s + 1]);
    graph_ = &run_.Build();
    recorded_ = Replay(*graph_);
  }

  int64_t Total(const Times& times) const {
    int64_t end = INT64_MIN;
    for (const int64_t node_end : times.end_ns) end = std::max(end, node_end);
    return end;
  }

  ReplayCase run_;
  const Graph* graph_ = nullptr;
  Times recorded_;
};

TEST_P(ReplayProperties, UnchangedReplayGivesTheRecordedTimes) { ExpectRecorded(*graph_); }

TEST_P(ReplayProperties, CriticalPathSumsToItsStep) {
  for (const Span& span : graph_->spans) {
    for (const PathOver over : {PathOver::kAllDevices, PathOver::kOwnDevice}) {
      int64_t at = recorded_.start_ns[span.first];
      for (const PathPart& part : CriticalPath(*graph_, recorded_, span, {}, over)) {
        EXPECT_EQ(part.start_ns, at);
        EXPECT_LT(part.start_ns, part.end_ns);
        at = part.end_ns;
      }
      EXPECT_EQ(at - recorded_.start_ns[span.first], LengthOf(span, recorded_));
    }
  }
}

TEST_P(ReplayProperties, ChangesOffTheCriticalPathDoNotShortenTheRun) {
  // The whole graph: from the node that ends last back to its first node.
  Span whole = graph_->spans.back();
  whole.first = 0;
  whole.to_end = true;
  for (uint32_t n = 0; n < graph_->nodes.size(); ++n) {
    if (recorded_.end_ns[n] > recorded_.end_ns[whole.end]) whole.end = n;
  }
  std::vector<bool> on_path(graph_->nodes.size(), false);
  for (const PathPart& part : CriticalPath(*graph_, recorded_, whole)) on_path[part.node] = true;
  Setting setting;
  for (size_t n = 0; n < graph_->nodes.size(); ++n) {
    const Node& node = graph_->nodes[n];
    const bool changes = !on_path[n] && node.kind == NodeKind::kActivity;
    setting.durations.push_back(changes ? node.duration_ns / 2 : node.duration_ns);
  }
  EXPECT_EQ(Total(Replay(*graph_, setting)), Total(recorded_));
}

TEST_P(ReplayProperties, NodeMayGrowWithinItsSlack) {
  const std::vector<int64_t> slack = SlackOf(*graph_, recorded_);
  for (size_t n = 0; n < graph_->nodes.size(); ++n) {
    if (graph_->nodes[n].kind != NodeKind::kActivity || slack[n] == INT64_MAX) continue;
    Setting setting;
    for (const Node& node : graph_->nodes) setting.durations.push_back(node.duration_ns);
    setting.durations[n] += slack[n];
    const Times times = Replay(*graph_, setting);
    for (const Span& span : graph_->spans) {
      EXPECT_LE(times.start_ns[span.end], recorded_.start_ns[span.end]) << n;
    }
  }
}

TEST_P(ReplayProperties, RemovedOpNeverSlowsTheRun) {
  for (uint32_t op = 1; op <= 9; ++op) {
    Change change;
    change.instructions[op] = 0;
    const Times times = Replay(*graph_, Apply(*graph_, run_.input(), change).setting);
    EXPECT_LE(Total(times), Total(recorded_)) << op;
    for (size_t n = 0; n < times.start_ns.size(); ++n) {
      EXPECT_LE(times.start_ns[n], recorded_.start_ns[n]) << op;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ReplayProperties, testing::Range(1u, 41u));

}  // namespace
}  // namespace xlatrace::analysis::replay
