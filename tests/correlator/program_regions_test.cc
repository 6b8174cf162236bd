// SPDX-License-Identifier: Apache-2.0

// The parts of a program that must have run between two launches, with branches and loops.

#include "correlator/thunk_order/program/program_regions.h"

#include <vector>

#include <gtest/gtest.h>

namespace xlatrace::correlator {
namespace {

// 0; one of {1 2 3} and {4 5}; 6; while 7 do {8 9}; 10. Each token is a kernel.
class ProgramRegionsTest : public ::testing::Test {
 protected:
  ProgramRegionsTest() {
    regions_.BeginChoice(true);
    regions_.Open(1);
    regions_.Close(4);
    regions_.Open(4);
    regions_.Close(6);
    regions_.EndChoice();
    loop_ = {.region = regions_.current(), .begin = 7, .end = 10};
    regions_.BeginChoice(false);
    loop_.body = regions_.Open(8);
    regions_.Close(10);
    regions_.EndChoice();
    regions_.Count(std::vector<bool>(11, true));
    regions_.CountLoop(&loop_);
  }

  ProgramRegions regions_;
  ProgramRegions::Loop loop_;
};

TEST_F(ProgramRegionsTest, OneBranchRunsAndLoopBodyMayBeSkipped) {
  EXPECT_EQ(regions_.total(), 6) << "0, the shorter branch, 6, 7, 10";
  EXPECT_EQ(regions_.SkippedFromStart(6), 3);
  EXPECT_EQ(regions_.SkippedToEnd(0), 5);
  EXPECT_EQ(regions_.Skipped(0, 6), 2);
  EXPECT_EQ(regions_.Skipped(6, 10), 1) << "the condition runs at least once";
}

TEST_F(ProgramRegionsTest, EnteredRegionRunsCompletely) {
  EXPECT_EQ(regions_.Skipped(0, 5), 1);
  EXPECT_EQ(regions_.Skipped(0, 3), 2);
  EXPECT_EQ(regions_.Skipped(1, 6), 2);
  EXPECT_EQ(regions_.Skipped(3, 6), 0);
  EXPECT_EQ(regions_.Skipped(2, 7), 2) << "3 and 6";
  EXPECT_EQ(regions_.SkippedFromStart(5), 2) << "0 and 4";
  EXPECT_EQ(regions_.SkippedToEnd(1), 5) << "2, 3, 6, 7, 10";
}

TEST_F(ProgramRegionsTest, BranchesExcludeEachOther) {
  EXPECT_EQ(regions_.Skipped(2, 5), -1);
  EXPECT_TRUE(regions_.Exclusive(2, 5));
  EXPECT_TRUE(regions_.Exclusive(5, 2));
  EXPECT_FALSE(regions_.Exclusive(1, 2));
  EXPECT_FALSE(regions_.Exclusive(0, 5));
  EXPECT_FALSE(regions_.Exclusive(2, 8));
}

TEST_F(ProgramRegionsTest, ConditionRunsBeforeEveryTripAndAfterTheLast) {
  EXPECT_EQ(regions_.Skipped(6, 9), 2) << "7 and 8";
  EXPECT_EQ(regions_.Skipped(7, 9), 1);
  EXPECT_EQ(regions_.Skipped(9, 10), 1) << "7";
  EXPECT_EQ(regions_.Skipped(8, 10), 2) << "9 and 7";
  EXPECT_EQ(regions_.Skipped(7, 10), 0);
  EXPECT_EQ(regions_.SkippedAround(loop_, 9, 7), 0);
  EXPECT_EQ(regions_.SkippedAround(loop_, 9, 8), 1);
  EXPECT_EQ(regions_.SkippedAround(loop_, 8, 8), 2) << "9 and 7";
}

TEST_F(ProgramRegionsTest, ThunksWithoutLaunchAreNotCountedAsSkipped) {
  std::vector<bool> required(11, true);
  required[4] = required[7] = false;
  regions_.Count(required);
  regions_.CountLoop(&loop_);
  EXPECT_EQ(regions_.total(), 4) << "0, 5 as the shorter branch, 6, 10";
  EXPECT_EQ(regions_.Skipped(0, 5), 0);
  EXPECT_EQ(regions_.Skipped(9, 10), 0);
}

// while 0 do { one of {1} and {}; while 2 do {3} }; 4
TEST(ProgramRegions, LoopsAndBranchesNest) {
  ProgramRegions regions;
  ProgramRegions::Loop outer{.region = regions.current(), .begin = 0, .end = 4};
  regions.BeginChoice(false);
  outer.body = regions.Open(1);
  regions.BeginChoice(true);
  regions.Open(1);
  regions.Close(2);
  regions.Open(2);
  regions.Close(2);
  regions.EndChoice();
  ProgramRegions::Loop inner{.region = regions.current(), .begin = 2, .end = 4};
  regions.BeginChoice(false);
  inner.body = regions.Open(3);
  regions.Close(4);
  regions.EndChoice();
  regions.Close(4);
  regions.EndChoice();
  regions.Count(std::vector<bool>(5, true));
  regions.CountLoop(&inner);
  regions.CountLoop(&outer);

  EXPECT_EQ(regions.total(), 2) << "0 and 4";
  EXPECT_EQ(regions.Skipped(0, 3), 1) << "2: the empty branch may have run";
  EXPECT_EQ(regions.Skipped(1, 4), 2) << "2 and 0";
  EXPECT_EQ(regions.Skipped(3, 4), 2) << "2 and 0";
  EXPECT_EQ(regions.SkippedAround(outer, 3, 1), 2) << "2 and 0";
  EXPECT_EQ(regions.SkippedAround(outer, 1, 1), 2) << "2 and 0";
  EXPECT_EQ(regions.SkippedAround(inner, 3, 2), 0);
}

}  // namespace
}  // namespace xlatrace::correlator
