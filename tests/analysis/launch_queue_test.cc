// SPDX-License-Identifier: Apache-2.0
#include "analysis/launch_queue.h"

#include <vector>

#include <gtest/gtest.h>

#include "tests/analysis/run_builder.h"

namespace xlatrace::analysis {
namespace {

// Activities on one device, each with the host call that started it.
class LaunchQueueTest : public testing::Test {
 protected:
  LaunchQueueTest() { lane_ = b.AddLane(b.AddDevice()); }

  void Add(int64_t start, int64_t end, model::HostCall call, bool steady = true) {
    b.AddActivity(lane_, start, end, {});
    calls.push_back(call);
    is_steady.push_back(steady);
  }

  std::vector<model::LaunchQueueRow> Measure() {
    return MeasureLaunchQueues(
        b.run,
        [this](size_t i) { return calls[i].call_id > 0 ? std::optional(calls[i]) : std::nullopt; },
        is_steady, stats);
  }

  RunBuilder b;
  model::Id lane_ = 0;
  std::vector<model::HostCall> calls;
  std::vector<bool> is_steady;
  std::vector<model::RunStat> stats;
};

TEST_F(LaunchQueueTest, HostThatWaitsForEachKernelHasNoQueue) {
  // A call of 5 us each 100 us; the kernel starts 2 us after its return and runs 40 us.
  for (int64_t k = 0; k < 10; ++k) {
    Add(100'000 * k + 7'000, 100'000 * k + 47'000, {k + 1, 100'000 * k, 100'000 * k + 5'000});
  }
  const auto rows = Measure();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].device_id, 1);
  EXPECT_TRUE(rows[0].steady);
  EXPECT_EQ(rows[0].calls, 10);
  EXPECT_EQ(rows[0].calls_on_idle, 10);
  EXPECT_EQ(rows[0].call_p50_ns, 5'000);
  EXPECT_EQ(rows[0].latency_p50_ns, 7'000);
  EXPECT_EQ(rows[0].queued_p90_ns, 2'000);
  EXPECT_EQ(rows[0].outstanding_max, 0);
}

TEST_F(LaunchQueueTest, AHostThatIsAheadHasAQueue) {
  // Eleven calls in 100 us; the kernels run 100 us each, one after the other from 10 us on.
  for (int64_t k = 0; k < 11; ++k) {
    Add(10'000 + 100'000 * k, 110'000 + 100'000 * k, {k + 1, 10'000 * k, 10'000 * k + 4'000});
  }
  const auto rows = Measure();
  ASSERT_EQ(rows.size(), 1U);
  // Call k finds the k calls before it unfinished: the first kernel ends at 110 us, after the last
  // call at 100 us. Only the first finds the device idle.
  EXPECT_EQ(rows[0].calls_on_idle, 1);
  EXPECT_EQ(rows[0].outstanding_p50, 5);
  EXPECT_EQ(rows[0].outstanding_p90, 9);
  EXPECT_EQ(rows[0].outstanding_max, 10);
  // Kernel k starts 10 + 90 k us after its call: 10, 100, ... 910; the sixth is 460 us.
  EXPECT_EQ(rows[0].latency_p50_ns, 460'000);
  EXPECT_EQ(rows[0].queued_p50_ns, 456'000);
}

TEST_F(LaunchQueueTest, AGraphIsOneLaunchOfManyActivities) {
  const model::HostCall graph = {1, 0, 20'000};
  Add(30'000, 40'000, graph);
  Add(40'000, 50'000, graph);
  Add(50'000, 90'000, graph);
  // Called while the last node runs; starts before its call returns.
  Add(91'000, 95'000, {2, 80'000, 93'000});
  const auto rows = Measure();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].calls, 2);
  EXPECT_EQ(rows[0].outstanding_max, 1);
  EXPECT_EQ(rows[0].calls_on_idle, 1);
  EXPECT_EQ(rows[0].latency_p90_ns, 11'000);  // The lower of 30 and 11 us: nearest rank.
  EXPECT_EQ(rows[0].queued_p50_ns, 0);
}

TEST_F(LaunchQueueTest, OnlySteadyStepsCountWhereThereAreAny) {
  Add(1'000'000, 1'100'000, {1, 0, 5'000}, false);  // A slow first launch.
  Add(1'107'000, 1'110'000, {2, 1'101'000, 1'105'000});
  const auto rows = Measure();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].calls, 1);
  EXPECT_EQ(rows[0].latency_p90_ns, 6'000);
  is_steady[1] = false;
  const auto whole = Measure();
  ASSERT_EQ(whole.size(), 1U);
  EXPECT_FALSE(whole[0].steady);
  EXPECT_EQ(whole[0].calls, 2);
}

TEST_F(LaunchQueueTest, MissingCallsOrWrongClocksGiveNoQueue) {
  Add(0, 10, {});
  EXPECT_TRUE(Measure().empty());
  EXPECT_TRUE(stats.empty());
  Add(10'000, 20'000, {1, 50'000, 55'000});
  EXPECT_TRUE(Measure().empty());
  ASSERT_EQ(stats.size(), 1U);
  EXPECT_EQ(stats[0].name, "launch_before_call");
  EXPECT_EQ(stats[0].value, 1);
}

TEST_F(LaunchQueueTest, ActivitiesWithoutTimesAreNotCounted) {
  Add(0, 0, {1, 500'000, 505'000});
  Add(110'000, 120'000, {2, 100'000, 105'000});
  b.run.activities.timing = {model::Timing::kUnknown, model::Timing::kKnown};
  const auto rows = Measure();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].calls, 1);
  EXPECT_EQ(rows[0].latency_p50_ns, 10'000);
  EXPECT_TRUE(stats.empty());
}

TEST_F(LaunchQueueTest, DevicesHaveQueuesOfTheirOwn) {
  Add(10'000, 500'000, {1, 0, 5'000});
  lane_ = b.AddLane(b.AddDevice());
  Add(110'000, 120'000, {2, 100'000, 105'000});
  const auto rows = Measure();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].device_id, 2);
  EXPECT_EQ(rows[1].outstanding_max, 0);
}

}  // namespace
}  // namespace xlatrace::analysis
