// SPDX-License-Identifier: Apache-2.0
#include "fleet/clocks.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace xlatrace::fleet {
namespace {

// Clock c reads true + offset + drift x true. Collectives of random groups end on all members
// within some microseconds, and now and then on one of them much later.
struct Clocks {
  std::vector<double> offset, drift;
  double Reads(size_t clock, double true_ns) const {
    return true_ns + offset[clock] + drift[clock] * true_ns;
  }
};

constexpr double kLastNs = 20e9;

// Largest error of clock `c` against clock `first` at the two ends of the recording.
double Wrong(const Clocks& truth, const ClockFits& fits, size_t first, size_t c) {
  double worst = 0;
  for (const double at : {0.0, kLastNs / 2, kLastNs}) {
    const auto common =
        static_cast<double>(ToCommon(fits.clocks[c], std::llround(truth.Reads(c, at))));
    worst = std::max(worst, std::abs(common - truth.Reads(first, at)));
  }
  return worst;
}

TEST(FitClocks, ShiftsAndDriftsAreWithinTheStatedError) {
  std::mt19937_64 random(4711);
  const auto between = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  int right = 0;
  double largest_error = 0;
  for (int i = 0; i < 100; ++i) {
    const size_t clocks = 2 + random() % 15;
    Clocks truth;
    for (size_t c = 0; c < clocks; ++c) {
      truth.offset.push_back(between(-1e10, 1e10));
      truth.drift.push_back(between(-2e-5, 2e-5));
    }
    std::vector<size_t> order(clocks);
    for (size_t c = 0; c < clocks; ++c) order[c] = c;
    std::shuffle(order.begin(), order.end(), random);
    const size_t collectives = 60 + random() % 400;
    std::vector<CollectiveEnd> ends;
    for (size_t k = 0; k < collectives; ++k) {
      const double at = kLastNs * static_cast<double>(k) / static_cast<double>(collectives - 1);
      // Neighbours in a random order, now and then all.
      const size_t from = k % clocks;
      for (size_t m = 0; m < (k % 8 == 0 ? clocks : 2); ++m) {
        const size_t c = order[(from + m) % clocks];
        double end = at + between(0, 6e3);
        if (random() % 25 == 0) end += between(1e4, 5e6);
        ends.push_back({k, static_cast<uint32_t>(c), std::llround(truth.Reads(c, end))});
      }
    }
    std::shuffle(ends.begin(), ends.end(), random);
    const ClockFits fits = FitClocks(clocks, ends);
    ASSERT_EQ(fits.sets, 1u);
    bool all = true;
    for (size_t c = 0; c < clocks; ++c) {
      const auto stated = static_cast<double>(fits.clocks[c].error_ns);
      const double wrong = Wrong(truth, fits, 0, c);
      if (wrong > stated + 2) {
        all = false;
        ADD_FAILURE() << "case " << i << ": clock " << c << " of " << clocks << " is " << wrong
                      << " ns off, stated are " << stated << " (" << fits.clocks[c].ends
                      << " ends)";
      }
      largest_error = std::max(largest_error, stated);
    }
    right += all ? 1 : 0;
  }
  EXPECT_EQ(right, 100);
  EXPECT_LT(largest_error, 200e3);  // And it is no empty statement.
}

TEST(FitClocks, ClocksThatShareNoCollectiveAreNotCompared) {
  std::vector<CollectiveEnd> ends;
  for (uint64_t k = 0; k < 50; ++k) {
    const auto at = static_cast<int64_t>(k) * 1'000'000;
    for (const uint32_t clock : {0u, 2u}) ends.push_back({k, clock, at + 100 * clock});
    for (const uint32_t clock : {1u, 3u}) ends.push_back({1000 + k, clock, at + 7'000'000});
  }
  const ClockFits fits = FitClocks(5, ends);
  EXPECT_EQ(fits.sets, 3u);
  EXPECT_EQ(fits.clocks[0].set, fits.clocks[2].set);
  EXPECT_EQ(fits.clocks[1].set, fits.clocks[3].set);
  EXPECT_NE(fits.clocks[0].set, fits.clocks[1].set);
  EXPECT_NE(fits.clocks[4].set, fits.clocks[0].set);
  EXPECT_EQ(fits.clocks[2].offset_ns, -200);
}

TEST(FitClocks, TwoCommonEndsAreTooFewForAFit) {
  EXPECT_EQ(FitClocks(2, {{1, 0, 10}, {1, 1, 20}, {2, 0, 30}, {2, 1, 40}}).sets, 2u);
}

TEST(FitClocks, EpochTimesKeepTheirNanoseconds) {
  constexpr int64_t kEpoch = 1'790'000'000'000'000'000;
  std::vector<CollectiveEnd> ends;
  for (uint64_t k = 0; k < 20; ++k) {
    const auto at = kEpoch + static_cast<int64_t>(k) * 1'000'000;
    ends.push_back({k, 0, at});
    ends.push_back({k, 1, at - 123});
  }
  const ClockFits fits = FitClocks(2, ends);
  EXPECT_EQ(fits.clocks[1].offset_ns, 123);
  EXPECT_EQ(ToCommon(fits.clocks[1], kEpoch - 123), kEpoch);
}

TEST(FitClocks, ErrorsOfIndirectClocksAddUp) {
  std::mt19937_64 random(3);
  std::vector<CollectiveEnd> ends;
  for (uint64_t k = 0; k < 300; ++k) {
    const auto from = static_cast<uint32_t>(k % 3);
    const auto at = static_cast<int64_t>(k) * 10'000'000;
    for (const uint32_t clock : {from, from + 1}) {
      ends.push_back({k, clock, at + 1000 * clock + static_cast<int64_t>(random() % 2000)});
    }
  }
  const ClockFits fits = FitClocks(4, ends);
  ASSERT_EQ(fits.sets, 1u);
  EXPECT_LT(fits.clocks[1].error_ns, fits.clocks[2].error_ns);
  EXPECT_LT(fits.clocks[2].error_ns, fits.clocks[3].error_ns);
}

}  // namespace
}  // namespace xlatrace::fleet
