// SPDX-License-Identifier: Apache-2.0
#include "report/losses.h"

#include <gtest/gtest.h>

namespace xlatrace::report {
namespace {

EndFigure Killed(int64_t process, std::optional<int64_t> tail_ns) {
  EndFigure end;
  end.process_id = process;
  end.ended = "signal";
  end.from_ns = 100;
  end.tail_ns = tail_ns;
  return end;
}

TEST(LossFigure, LongestMissingEndOfAllProcessesCounts) {
  for (const auto& tails : std::vector<std::vector<int64_t>>{{5, 9, 2}, {9, 5, 2}, {2, 5, 9}}) {
    LossFigure figure;
    for (const int64_t tail : tails) figure.ends.push_back(Killed(1, tail));
    EXPECT_EQ(figure.tail_ns(), 9);
    EXPECT_TRUE(figure.more_possible());
  }
}

TEST(LossFigure, CompleteProcessesHaveNoMissingEnd) {
  LossFigure figure;
  figure.ends.push_back({.process_id = 1, .ended = "exit"});
  EXPECT_EQ(figure.tail_ns(), std::nullopt);
  EXPECT_FALSE(figure.more_possible());
  figure.ends.push_back(Killed(2, 7));
  figure.ends.push_back({.process_id = 3, .ended = "exit"});
  EXPECT_EQ(figure.tail_ns(), 7);
  // A process that still runs lacks nothing yet.
  EndFigure running = Killed(4, 70);
  running.ended = "running";
  figure.ends.push_back(running);
  EXPECT_EQ(figure.tail_ns(), 7);
}

TEST(LossFigure, OneUnknownEndMakesTheLongestUnknown) {
  LossFigure figure;
  figure.ends = {Killed(1, 5), Killed(2, std::nullopt), Killed(3, 6)};
  EXPECT_EQ(figure.tail_ns(), std::nullopt);
  EXPECT_TRUE(figure.more_possible());
}

TEST(LossFigure, RecordsWithoutAPlaceAreThoseNotLocated) {
  EXPECT_EQ((LossFigure{.lost = 5, .located = 2}).anywhere(), 3);
  EXPECT_EQ((LossFigure{.lost = 2, .located = 5}).anywhere(), 0);
  EXPECT_TRUE((LossFigure{.lost = 1}).may_lack());
  EXPECT_FALSE(LossFigure().may_lack());
}

}  // namespace
}  // namespace xlatrace::report
