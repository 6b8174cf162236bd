// SPDX-License-Identifier: Apache-2.0
#include "importers/common/run_numbers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xlatrace::importers {
namespace {

void RunOf(RunNumbers& numbers, int64_t program, int64_t first, int64_t last) {
  for (int64_t n = first; n <= last; ++n) numbers.OnRun(1, program, n);
}

TEST(RunNumbers, MissingRunsBetweenAndInsideSessionsAreCounted) {
  RunNumbers numbers;
  RunOf(numbers, 7, 100'000, 100'004);
  RunOf(numbers, 7, 100'007, 100'007);  // Two are not there.
  RunOf(numbers, 8, -1'979'450'504, -1'979'450'504);
  numbers.NextSession();
  RunOf(numbers, 7, 100'016, 100'020);  // Eight ran between.
  RunOf(numbers, 8, -1'979'450'503, -1'979'450'502);
  const auto found = numbers.Find();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].program_id, 7);
  EXPECT_EQ(found[0].runs, 11);
  EXPECT_EQ(found[0].between, 8);
  EXPECT_EQ(found[0].inside, 2);
}

TEST(RunNumbers, RunAtASessionEndIsInBothSessions) {
  RunNumbers numbers;
  RunOf(numbers, 7, 1, 5);
  numbers.NextSession();
  RunOf(numbers, 7, 5, 9);
  EXPECT_TRUE(numbers.Find().empty());
}

TEST(RunNumbers, CounterSharedByAllProgramsIsIgnored) {
  RunNumbers numbers;
  for (int64_t n = 1; n < 20; ++n) numbers.OnRun(1, n % 3, n);
  numbers.NextSession();
  for (int64_t n = 40; n < 60; ++n) numbers.OnRun(1, n % 3, n);
  EXPECT_TRUE(numbers.Find().empty());
}

TEST(RunNumbers, ExtremeNumbersAndFewRunsAreIgnored) {
  RunNumbers numbers;
  for (const int64_t n : {INT64_MIN, INT64_MIN + 5, INT64_MAX}) numbers.OnRun(1, 7, n);
  numbers.OnRun(1, 9, 500'000);
  numbers.NextSession();
  numbers.OnRun(1, 9, 500'009);
  EXPECT_TRUE(numbers.Find().empty());
}

}  // namespace
}  // namespace xlatrace::importers
