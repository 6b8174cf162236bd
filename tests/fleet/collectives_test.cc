// SPDX-License-Identifier: Apache-2.0
#include "fleet/collectives.h"

#include <gtest/gtest.h>

namespace xlatrace::fleet {
namespace {

RankCollective Exchange(const std::string& instruction, int64_t step, int64_t duration_ns,
                        int64_t exposed_ns) {
  RankCollective run;
  run.key = {.step = step, .fingerprint = "f00d", .instruction = instruction};
  run.op = "all-reduce";
  run.duration_ns = duration_ns;
  run.exposed_ns = exposed_ns;
  run.bytes = 1000;
  run.bus_bytes = 1500;
  return run;
}

// Three ranks, of which rank 1 comes last in two of three steps; step 0 is not steady.
TEST(JobCollectives, ShortestDurationIsTheExchangeTime) {
  const int64_t lasts[3][3] = {{90, 30, 60}, {100, 20, 50}, {40, 70, 10}};
  Skew skew;
  Pairing pairing(3);
  for (int64_t step = 0; step < 3; ++step) {
    for (size_t rank = 0; rank < 3; ++rank) {
      RankCollective run = Exchange("all-reduce.1", step, lasts[step][rank], 0);
      pairing.Add(rank, run);
      skew.Add(run.key, run.duration_ns, rank);
    }
  }
  pairing.Settle();
  JobCollectives collectives;
  for (int64_t step = 0; step < 3; ++step) {
    for (size_t rank = 0; rank < 3; ++rank) {
      collectives.Add(rank, Exchange("all-reduce.1", step, lasts[step][rank], lasts[step][rank]),
                      step > 0, step);
    }
  }
  const auto rows = collectives.Rows(skew, pairing, {2, 2, 2});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].ranks, 3);
  EXPECT_EQ(rows[0].paired, 3);
  EXPECT_EQ(rows[0].transfer_ns, 20);      // The least of 30, 20, 10.
  EXPECT_EQ(rows[0].arrival_skew_ns, 60);  // Median of 60, 80, 60.
  EXPECT_EQ(rows[0].most_skew_ns, 80);
  EXPECT_EQ(rows[0].last_rank, 1u);
  EXPECT_EQ(rows[0].last_times, 2);
  EXPECT_EQ(rows[0].bus_bandwidth, 75'000'000'000);  // 1500 bytes in 20 ns.
  // Steps 1 and 2: 170 + 120 over three ranks of two steps each.
  EXPECT_EQ(rows[0].exposed_ns_per_step, (100 + 20 + 50 + 40 + 70 + 10) / 6);
  EXPECT_EQ(rows[0].wait_ns_per_step, (3 * 1 + 3 * 2) / 6);
}

// Whose ranks are not all here: the least of them may be anybody's waiting.
TEST(JobCollectives, IncompleteGroupHasOnlyExposedTime) {
  Skew skew;
  Pairing pairing(3);
  JobCollectives collectives;
  for (size_t rank = 0; rank < 2; ++rank) {
    const RankCollective run = Exchange("all-reduce.1", 1, 50, 50);
    pairing.Add(rank, run);
    skew.Add(run.key, run.duration_ns, rank);
    collectives.Add(rank, run, true, std::nullopt);
    collectives.Add(rank, Exchange("all-reduce.2", 1, 500, 70), true, std::nullopt);
  }
  pairing.Settle();
  const auto rows = collectives.Rows(skew, pairing, {1, 1, 1});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].instruction, "all-reduce.2");  // The most exposed first.
  EXPECT_EQ(rows[1].exposed_ns_per_step, 50);
  EXPECT_EQ(rows[0].transfer_ns, std::nullopt);
  EXPECT_EQ(rows[0].wait_ns_per_step, std::nullopt);
  EXPECT_EQ(rows[0].last_rank, std::nullopt);
}

}  // namespace
}  // namespace xlatrace::fleet
