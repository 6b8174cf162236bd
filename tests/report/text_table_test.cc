// SPDX-License-Identifier: Apache-2.0
#include "report/text_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xlatrace::report {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::SizeIs;

TEST(WrapTest, LinesBreakAtBlanksAndLongWordsAreCut) {
  EXPECT_THAT(Wrap("alpha  beta gamma", 10), ElementsAre("alpha beta", "gamma"));
  EXPECT_THAT(Wrap("a loop_dynamic_update.7", 16),
              ElementsAre("a", AllOf(SizeIs(16), EndsWith("update.7"))));
  EXPECT_THAT(Wrap("", 10), ElementsAre());
}

TEST(WrapTest, LineOfACellIsNotBroken) {
  EXPECT_THAT(Wrap("slower, cell [4]:3 (measured)", 16),
              ElementsAre("slower,", "cell [4]:3", "(measured)"));
  EXPECT_THAT(Wrap("dot (cell [12]:3), +4 ms", 14), ElementsAre("dot", "(cell [12]:3),", "+4 ms"));
}

TEST(WrapTest, OtherBracketsAfterCellAreWordsOfTheirOwn) {
  EXPECT_THAT(Wrap("cell [x] cell [] cell [4 cell", 8),
              ElementsAre("cell [x]", "cell []", "cell [4", "cell"));
}

}  // namespace
}  // namespace xlatrace::report
