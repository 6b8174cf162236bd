// SPDX-License-Identifier: Apache-2.0
#include "fleet/skew.h"

#include <gtest/gtest.h>

namespace xlatrace::fleet {
namespace {

CollectiveKey Key(int64_t step, int64_t number = 0, int64_t group = 0) {
  return {step, "f00d", "all-reduce.1", number, group};
}

TEST(Skew, DurationOfTheLastRankIsTheExchangeTime) {
  Skew skew;
  for (const int64_t duration : {900, 120, 500}) skew.Add(Key(3), duration, 0);
  const auto group = skew.Of(Key(3), 3);
  ASSERT_TRUE(group);
  EXPECT_EQ(group->transfer_ns, 120);
  EXPECT_EQ(group->ranks, 3);
}

TEST(Skew, DifferentStepsAndGroupsAreDifferentCollectives) {
  Skew skew;
  skew.Add(Key(3), 10, 0);
  skew.Add(Key(4), 20, 0);
  skew.Add(Key(3, 1), 30, 0);
  skew.Add(Key(3, 0, 1), 40, 0);
  EXPECT_EQ(skew.size(), 4u);
  EXPECT_FALSE(skew.Of(Key(3), 1));  // A single rank waits for no known rank.
}

TEST(Skew, EqualNamesInTwoProgramsAreDifferentCollectives) {
  Skew skew;
  skew.Add({3, "f00d", "all-reduce.1", 0, 0}, 10, 0);
  skew.Add({3, "beef", "all-reduce.1", 0, 0}, 5, 0);
  EXPECT_FALSE(skew.Of(Key(3), 2));
}

TEST(Skew, IncompleteGroupHasNoSkew) {
  Skew skew;
  skew.Add(Key(1), 10, 0);
  skew.Add(Key(1), 30, 0);
  EXPECT_FALSE(skew.Of(Key(1), 4));
  EXPECT_TRUE(skew.Of(Key(1), 2));
}

TEST(Skew, OnlyOpsInWhichAllWaitForAllSynchronise) {
  for (const char* op : {"all-reduce", "all-gather", "reduce-scatter", "all-to-all"}) {
    EXPECT_TRUE(Synchronises(op)) << op;
  }
  for (const char* op :
       {"collective-permute", "collective-broadcast", "send", "recv", "fusion", ""}) {
    EXPECT_FALSE(Synchronises(op)) << op;
  }
}

}  // namespace
}  // namespace xlatrace::fleet
