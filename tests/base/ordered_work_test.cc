// SPDX-License-Identifier: Apache-2.0
#include "base/ordered_work.h"

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace xlatrace {
namespace {

TEST(OrderedWork, ResultsAreDeliveredInOrder) {
  std::vector<size_t> taken;
  OrderedWork<std::string>(
      1000, [](size_t i) { return std::to_string(i); },
      [&](size_t i, std::string text) {
        EXPECT_EQ(text, std::to_string(i));
        taken.push_back(i);
        return true;
      });
  ASSERT_EQ(taken.size(), 1000u);
  for (size_t i = 0; i < taken.size(); ++i) EXPECT_EQ(taken[i], i);
}

TEST(OrderedWork, WorkStopsWhenTheConsumerReturnsFalse) {
  std::atomic<size_t> made{0};
  size_t taken = 0;
  OrderedWork<int>(
      1'000'000,
      [&](size_t) {
        ++made;
        return 1;
      },
      [&](size_t, int) { return ++taken < 10; });
  EXPECT_EQ(taken, 10u);
  EXPECT_LT(made.load(), 10'000u);
}

TEST(OrderedWork, ErrorsReachTheCaller) {
  const auto run = [] {
    OrderedWork<int>(
        100,
        [](size_t i) -> int {
          if (i == 50) throw std::runtime_error("fifty");
          return 0;
        },
        [](size_t, int) { return true; });
  };
  EXPECT_THROW(run(), std::runtime_error);
}

TEST(OrderedWork, EmptyWorkEndsWithoutACall) {
  OrderedWork<int>(
      0, [](size_t) { return 0; }, [](size_t, int) { return true; });
}

}  // namespace
}  // namespace xlatrace
