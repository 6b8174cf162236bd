// SPDX-License-Identifier: Apache-2.0
#include "compare/sequence_align.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace xlatrace::compare {
namespace {

using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;
using List = std::vector<uint64_t>;

TEST(CertainPairs, EqualListsArePairedWhole) {
  EXPECT_EQ(CertainPairs(List{7, 7, 8, 7}, List{7, 7, 8, 7}),
            (Pairs{{0, 0}, {1, 1}, {2, 2}, {3, 3}}));
}

TEST(CertainPairs, MovedBlockLeavesOtherPairsInPlace) {
  // 1 and 2 moved from the front to the end.
  EXPECT_EQ(CertainPairs(List{1, 2, 5, 6, 7}, List{5, 6, 7, 1, 2}),
            (Pairs{{2, 0}, {3, 1}, {4, 2}}));
}

TEST(CertainPairs, MissingOneOfEqualItemsIsAmbiguous) {
  EXPECT_EQ(CertainPairs(List{9, 4, 4, 8}, List{9, 4, 8}), (Pairs{{0, 0}, {3, 2}}));
}

TEST(CertainPairs, EmptyAndTooLongListsHaveNoPairs) {
  EXPECT_TRUE(CertainPairs(List{}, List{1}).empty());
  const List long_one(5000, 1);
  EXPECT_TRUE(CertainPairs(long_one, long_one).empty());
}

// All longest common subsequences of short lists, by trying every subset.
Pairs ByTrying(const List& a, const List& b) {
  size_t longest = 0;
  std::vector<Pairs> all;
  Pairs current;
  const auto grow = [&](const auto& self, size_t i, size_t j) -> void {
    if (current.size() > longest) {
      longest = current.size();
      all.clear();
    }
    if (current.size() == longest) all.push_back(current);
    for (size_t x = i; x < a.size(); ++x) {
      for (size_t y = j; y < b.size(); ++y) {
        if (a[x] != b[y]) continue;
        current.emplace_back(x, y);
        self(self, x + 1, y + 1);
        current.pop_back();
      }
    }
  };
  grow(grow, 0, 0);
  if (longest == 0) return {};
  Pairs certain;
  for (const auto& pair : all.front()) {
    const bool everywhere = std::all_of(all.begin(), all.end(), [&](const Pairs& other) {
      return std::find(other.begin(), other.end(), pair) != other.end();
    });
    if (everywhere) certain.push_back(pair);
  }
  return certain;
}

TEST(CertainPairs, PairsAreInEveryLongestCommonSubsequence) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 300; ++trial) {
    List a(random() % 7), b(random() % 7);
    for (uint64_t& value : a) value = random() % 3;
    for (uint64_t& value : b) value = random() % 3;
    EXPECT_EQ(CertainPairs(a, b), ByTrying(a, b)) << trial;
  }
}

}  // namespace
}  // namespace xlatrace::compare
