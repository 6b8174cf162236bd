// SPDX-License-Identifier: Apache-2.0

// Gaps in 31 bits: what comes back, and what does not fit.

#include "store/packed_row.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "model/derived.h"
#include "model/words.h"

namespace xlatrace::store {
namespace {

TEST(PackedGap, PackedGapRoundTripsWithAnySign) {
  for (const int64_t distance : {int64_t{1}, int64_t{-1}, int64_t{0}, int64_t{12'345},
                                 (int64_t{1} << 26) - 1, 1 - (int64_t{1} << 26)}) {
    for (int64_t cause = 0; cause < 16; ++cause) {
      const auto packed = PackGap({distance, cause});
      ASSERT_TRUE(packed) << distance;
      EXPECT_EQ(UnpackGap(*packed).distance, distance);
      EXPECT_EQ(UnpackGap(*packed).cause, cause);
    }
  }
}

TEST(PackedGap, TooLargeGapIsRejected) {
  EXPECT_FALSE(PackGap({int64_t{1} << 26, 0}));
  EXPECT_FALSE(PackGap({-(int64_t{1} << 26), 0}));
  EXPECT_FALSE(PackGap({INT64_MIN, 0}));
  EXPECT_FALSE(PackGap({1, 16}));
  EXPECT_FALSE(PackGap({1, -1}));
}

TEST(PackedGap, EveryCauseFitsAPackedGap) {
  const auto last = static_cast<int64_t>(model::Texts<model::GapCause>().size()) - 1;
  EXPECT_TRUE(PackGap({1, last}));
}

TEST(PackedRow, TheTableHasTheColumnsInTheirOrder) {
  EXPECT_EQ(PackedTableSql(),
            "CREATE TABLE x_packed_activity(kind_id INT NOT NULL, slot_id INT NOT NULL, "
            "start_ns INT NOT NULL, duration_ns INT, correlation_id INT, call_kind INT, "
            "call_reference INT, call_duration_ns INT, gap INT, nested_ns INT);\n");
  EXPECT_EQ(NameOf(PackedColumn::kNested), kPackedColumns.back());
}

}  // namespace
}  // namespace xlatrace::store
