// SPDX-License-Identifier: Apache-2.0

// Truncation at many places and flipped bits: errors or run stats, never a crash or a hang.

#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

#include "importers/xplane/xplane.h"
#include "tests/importers/memory_sink.h"
#include "tests/importers/xspace_builder.h"

namespace xlatrace::importers {
namespace {

// Every row must stay referable and every interval sane, whatever the bytes.
void ExpectTablesAreSane(const MemorySink& sink) {
  for (const model::Activity& a : sink.activities) {
    ASSERT_LE(a.start_ns, a.end_ns);
    ASSERT_LE(MemorySink::SelfNs(a), a.end_ns - a.start_ns);
    ASSERT_GE(MemorySink::SelfNs(a), 0);
    ASSERT_GT(a.lane_id, 0);
    ASSERT_LE(static_cast<size_t>(a.lane_id), sink.lanes.size());
    ASSERT_GT(a.config_id, 0);
    ASSERT_LE(static_cast<size_t>(a.config_id), sink.configs.size());
    ASSERT_LE(static_cast<size_t>(a.hint_id), sink.hints.size());
  }
}

TEST(XplaneCorruption, TruncatedAnywhere) {
  const std::string whole = MixedSpace();
  ASSERT_GT(whole.size(), 1000u);
  size_t refused = 0;
  for (size_t size = 0; size < whole.size(); ++size) {
    MemorySink sink;
    const Status status = ImportXplane(std::string_view(whole).substr(0, size), "t", sink);
    if (!status) {
      ++refused;
      ASSERT_FALSE(status.error().message.empty());
      ASSERT_TRUE(sink.processes.empty());  // Refused before the first row.
    }
    ExpectTablesAreSane(sink);
  }
  // Only cuts between two planes leave something whole.
  EXPECT_GE(refused, whole.size() - 8);
}

TEST(XplaneCorruption, FlippedBits) {
  const std::string whole = MixedSpace();
  std::mt19937 random(20260117);
  for (int round = 0; round < 4000; ++round) {
    std::string bytes = whole;
    for (int flips = 1 + round % 4; flips > 0; --flips) {
      bytes[random() % bytes.size()] ^= static_cast<char>(1 << (random() % 8));
    }
    MemorySink sink;
    const Status status = ImportXplane(bytes, "t", sink);
    ASSERT_TRUE(status || !status.error().message.empty());
    ExpectTablesAreSane(sink);
  }
}

TEST(XplaneCorruption, TheIntactFixtureIsRead) {
  MemorySink sink;
  ASSERT_TRUE(ImportXplane(MixedSpace(), "t", sink));
  EXPECT_EQ(sink.activities.size(), 2u * 9 + 2 + 6);
  EXPECT_EQ(sink.modules.size(), 1u);
  EXPECT_EQ(sink.calls.size(), 8u);
  EXPECT_EQ(sink.steps.size(), 1u);
  EXPECT_EQ(sink.compiles.size(), 1u);
}

}  // namespace
}  // namespace xlatrace::importers
