// SPDX-License-Identifier: Apache-2.0
#include "base/nearly_sorted.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace xlatrace {
namespace {

// In order, except for elements that are up to `off` places from theirs.
std::vector<int> Nearly(size_t size, int off, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::pair<int, int>> keys;
  for (size_t i = 0; i < size; ++i) {
    keys.emplace_back(static_cast<int>(i) + static_cast<int>(random() % (off + 1)),
                      static_cast<int>(i));
  }
  std::stable_sort(keys.begin(), keys.end());
  std::vector<int> values;
  for (const auto& [key, value] : keys) values.push_back(value);
  return values;
}

TEST(SortNearlySorted, AnyOrderIsSorted) {
  for (const size_t size : {0, 1, 2, 3, 1000, 30'000}) {
    for (const int off : {0, 1, 3, 50, 1 << 20}) {
      std::vector<int> values = Nearly(size, off, static_cast<uint32_t>(size) + 1);
      SortNearlySorted(values);
      EXPECT_TRUE(std::is_sorted(values.begin(), values.end())) << size << " " << off;
    }
    std::vector<int> reversed = Nearly(size, 0, 1);
    std::reverse(reversed.begin(), reversed.end());
    SortNearlySorted(reversed, std::less<>());
    EXPECT_EQ(reversed, Nearly(size, 0, 1));
  }
}

TEST(SortNearlySorted, LastElementIsMovedToTheFront) {
  // It is where moving it would cost too much that the rest of the work is handed on.
  std::vector<int> values = Nearly(100'000, 0, 1);
  values.push_back(-1);
  SortNearlySorted(values);
  EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
  EXPECT_EQ(values.front(), -1);
}

TEST(SortNearlySorted, SortedInputIsReadOnce) {
  std::vector<int> values = Nearly(10'000, 0, 1);
  size_t compared = 0;
  SortNearlySorted(values, [&](int a, int b) { return ++compared, a < b; });
  EXPECT_EQ(compared, values.size() - 1);
}

}  // namespace
}  // namespace xlatrace
