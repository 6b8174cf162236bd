// SPDX-License-Identifier: Apache-2.0
#include "analysis/intervals.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace xlatrace::analysis {
namespace {

// The instants 0..7 as bits: every set of them, against set algebra on bits.
constexpr int kInstants = 8;

Intervals FromBits(unsigned bits) {
  Intervals list;
  for (int t = 0; t < kInstants; ++t) {
    if ((bits >> t) & 1u) list.push_back({t, t + 1});
  }
  return Normalise(list);
}

unsigned ToBits(const Intervals& set) {
  unsigned bits = 0;
  for (const Interval& interval : set) {
    for (int64_t t = interval.start_ns; t < interval.end_ns; ++t) bits |= 1u << t;
  }
  return bits;
}

bool IsNormal(const Intervals& set) {
  for (size_t i = 0; i < set.size(); ++i) {
    if (set[i].end_ns <= set[i].start_ns) return false;
    if (i > 0 && set[i].start_ns <= set[i - 1].end_ns) return false;
  }
  return true;
}

TEST(Intervals, NormaliseSortsMergesAndDropsEmptyOnes) {
  EXPECT_EQ(Normalise({{5, 7}, {1, 3}, {3, 4}, {6, 9}, {2, 2}, {8, 4}}),
            (Intervals{{1, 4}, {5, 9}}));
  EXPECT_EQ(Normalise({}), Intervals{});
}

TEST(Intervals, AlgebraAgreesWithBitsForEveryPairOfSets) {
  for (unsigned a = 0; a < 1u << kInstants; ++a) {
    const Intervals set_a = FromBits(a);
    ASSERT_EQ(ToBits(set_a), a);
    ASSERT_EQ(Length(set_a), __builtin_popcount(a));
    for (unsigned b = 0; b < 1u << kInstants; ++b) {
      const Intervals set_b = FromBits(b);
      for (const auto& [result, bits] :
           {std::pair(Unite(set_a, set_b), a | b), std::pair(Intersect(set_a, set_b), a & b),
            std::pair(Subtract(set_a, set_b), a & ~b)}) {
        ASSERT_EQ(ToBits(result), bits) << a << " " << b;
        ASSERT_TRUE(IsNormal(result)) << a << " " << b;
      }
    }
  }
}

TEST(Intervals, OverlapIsTheLengthOfTheIntersection) {
  for (unsigned a = 0; a < 1u << kInstants; ++a) {
    const Intervals set = FromBits(a);
    for (int from = 0; from < kInstants; ++from) {
      for (int to = from; to <= kInstants; ++to) {
        ASSERT_EQ(Overlap(set, {from, to}), Length(Intersect(set, Normalise({{from, to}}))));
      }
    }
  }
}

TEST(Intervals, NegativeTimesAreTimesLikeOthers) {
  EXPECT_EQ(Subtract({{-10, 10}}, {{-5, 5}}), (Intervals{{-10, -5}, {5, 10}}));
}

}  // namespace
}  // namespace xlatrace::analysis
