// SPDX-License-Identifier: Apache-2.0
#include "analysis/launch_threads.h"

#include <optional>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "tests/analysis/run_builder.h"

namespace xlatrace::analysis {
namespace {

bool WorksFor(const LaunchThreads& threads, model::Id process, int64_t thread, model::Id device) {
  const std::set<model::Id>* devices = threads.DevicesOf(process, thread);
  return devices == nullptr || devices->contains(device);
}

// Two GPUs of one process with four launches each. Thread 7 makes three launches on the first,
// thread 8 all on the second. Python's thread 5 makes the last one (a copy at the beginning).
class LaunchThreadsTest : public testing::Test {
 protected:
  LaunchThreadsTest() {
    for (int device = 0; device < 2; ++device) {
      const auto lane = b.AddLane(b.AddDevice());
      for (int i = 0; i < 4; ++i) b.AddActivity(lane, 100 * i, 100 * i + 50, {});
    }
  }

  static std::optional<model::HostCall> CallOf(size_t activity) {
    constexpr int64_t kThreads[] = {5, 7, 7, 7, 8, 8, 8, 8};
    return model::HostCall{1, 0, 10, kThreads[activity]};
  }

  RunBuilder b;
};

TEST_F(LaunchThreadsTest, ThreadWithHalfOfTheLaunchesWorksForTheDevice) {
  const LaunchThreads threads(b.run, CallOf, {});
  EXPECT_TRUE(WorksFor(threads, 1, 7, 1));
  EXPECT_FALSE(WorksFor(threads, 1, 7, 2));
  EXPECT_FALSE(WorksFor(threads, 1, 8, 1));
  EXPECT_TRUE(WorksFor(threads, 1, 8, 2));
}

TEST_F(LaunchThreadsTest, ThreadWithFewLaunchesMayDelayAnyDevice) {
  const LaunchThreads threads(b.run, CallOf, {});
  for (const int64_t thread : {5, 99}) {
    EXPECT_TRUE(WorksFor(threads, 1, thread, 1)) << thread;
    EXPECT_TRUE(WorksFor(threads, 1, thread, 2)) << thread;
  }
  // A thread of the same number in another process is another thread.
  EXPECT_TRUE(WorksFor(threads, 2, 8, 1));
}

TEST_F(LaunchThreadsTest, ThreadThatLaunchesOnTwoDevicesWorksForBoth) {
  const LaunchThreads threads(b.run, [](size_t) { return model::HostCall{1, 0, 10, 7}; }, {});
  EXPECT_TRUE(WorksFor(threads, 1, 7, 1));
  EXPECT_TRUE(WorksFor(threads, 1, 7, 2));
}

TEST_F(LaunchThreadsTest, StreamNumberIsTheThreadIfNoCallsAreRecorded) {
  b.run.lanes[0].stream_id = 7;
  b.run.lanes[1].stream_id = 8;
  const std::vector<model::HostEvent> events = {{1, 7, "range", 0, 1, 1}};
  const LaunchThreads threads(b.run, {}, events);
  EXPECT_FALSE(WorksFor(threads, 1, 7, 2));
  // Nothing is known of a thread 8: that stream is only a stream.
  EXPECT_TRUE(WorksFor(threads, 1, 8, 1));
  // If calls are known, stream numbers are not used.
  const LaunchThreads by_calls(
      b.run,
      [](size_t) {
        return model::HostCall{1, 0, 10, 3};
      },
      events);
  EXPECT_TRUE(WorksFor(by_calls, 1, 7, 2));
}

}  // namespace
}  // namespace xlatrace::analysis
