// SPDX-License-Identifier: Apache-2.0
#include "store/packed_table.h"

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "store/run_saver.h"

namespace xlatrace::store {
namespace {

class PackedTableTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("xlatrace_packed_" + std::to_string(getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
    const std::string path = (folder_ / "run.db").string();
    auto saver = RunSaver::Create(path);
    ASSERT_TRUE(saver) << saver.error().message;
    RunBuilder run(saver->beside());
    ASSERT_TRUE(saver->Save(run, nullptr, nullptr));
    auto db = RunDb::Open(path);
    ASSERT_TRUE(db) << db.error().message;
    db_.emplace(*std::move(db));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
  std::optional<RunDb> db_;
};

TEST_F(PackedTableTest, CellsEqualThoseOfSelect) {
  // Integers of every width and sign, reals, NULL, and texts with and without a terminator.
  std::string sql = "SELECT NULL AS a, 1.5 AS b, '' AS c, 'x' || char(0) || 'y' AS d, 0 AS e";
  for (int bits = 0; bits < 63; ++bits) {
    for (const char* sign : {"", "-"}) {
      sql += " UNION ALL SELECT " + std::to_string(bits) + ", -0.25, NULL, 'row', " + sign +
             std::to_string((int64_t{1} << bits) - 1);
    }
  }
  sql += " UNION ALL SELECT 9223372036854775807, 1e300, 'z', 'w', -9223372036854775808";
  const auto expected = db_->Select(sql);
  auto loaded = PackedTable::Load(*db_, sql);
  ASSERT_TRUE(expected && loaded);
  const PackedTable packed = std::move(*loaded);
  ASSERT_EQ(packed.row_count(), expected->rows.size());
  ASSERT_EQ(packed.column_count(), 5u);
  for (size_t row = 0; row < packed.row_count(); ++row) {
    EXPECT_EQ(packed.Row(row), expected->rows[row]) << row;
    for (const char* column : {"a", "b", "c", "d", "e"}) {
      EXPECT_EQ(packed.At(row, packed.Column(column)),
                expected->rows[row][expected->Column(column)]);
      EXPECT_EQ(packed.IsNull(row, column), expected->IsNull(row, column));
      EXPECT_EQ(packed.Int(row, column, -7), expected->Int(row, column, -7));
      EXPECT_EQ(packed.Real(row, column, -7), expected->Real(row, column, -7));
    }
    EXPECT_EQ(packed.Text(row, "d"), expected->Text(row, "d"));
  }
}

TEST_F(PackedTableTest, TextsStayInPlaceBeyondOneChunk) {
  const auto packed = PackedTable::Load(
      *db_,
      "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r LIMIT 300) SELECT n, "
      "printf('%d ', n) || hex(zeroblob(n * 50)) AS text FROM r");
  ASSERT_TRUE(packed);
  ASSERT_EQ(packed->row_count(), 300u);
  for (size_t row = 0; row < 300; ++row) {
    const std::string number = std::to_string(row + 1);
    EXPECT_EQ(packed->Text(row, "text"), number + " " + std::string((row + 1) * 100, '0'));
  }
}

}  // namespace
}  // namespace xlatrace::store
