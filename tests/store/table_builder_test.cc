// SPDX-License-Identifier: Apache-2.0

// Tables built page by page equal those of SQLite: it reads every value back, finds every rowid,
// and its integrity check passes.

#include "store/table_builder.h"

#include <unistd.h>

#include <filesystem>
#include <random>

#include <gtest/gtest.h>

#include "store/sqlite.h"

namespace xlatrace::store {
namespace {

class TableBuilderTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = std::filesystem::temp_directory_path() /
            ("xlatrace_table_builder_" + std::to_string(getpid()) + ".db");
    std::filesystem::remove(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  // An empty database with tables t and u; the root page of t.
  uint32_t Create() {
    std::filesystem::remove(path_);
    auto db = Database::Create(path_);
    EXPECT_TRUE(db);
    EXPECT_TRUE(
        db->Execute("CREATE TABLE u(x); INSERT INTO u VALUES(7);"
                    "CREATE TABLE t(a INT, b INT, c INT, d INT)"));
    const auto root = db->QueryInt64("SELECT rootpage FROM sqlite_master WHERE name = 't'");
    EXPECT_TRUE(root && *root);
    return static_cast<uint32_t>(**root);
  }

  Database Open() {
    auto db = Database::OpenOurs(path_);
    EXPECT_TRUE(db);
    auto check = db->Prepare("PRAGMA integrity_check");
    EXPECT_TRUE(check && *check->Step());
    EXPECT_EQ(check->Text(0), "ok");
    return std::move(*db);
  }

  std::filesystem::path path_;
};

TEST_F(TableBuilderTest, EveryValueRoundTrips) {
  // Both sides of every size that a serial type has, and NULLs in all places.
  std::vector<int64_t> interesting = {kNullNumber, 0, 1, 2, -1, INT64_MAX, INT64_MIN + 1};
  for (const int bits : {7, 8, 15, 16, 23, 24, 31, 32, 47, 48, 62}) {
    for (const int64_t off : {-1, 0, 1}) {
      interesting.push_back((int64_t{1} << bits) + off);
      interesting.push_back(-(int64_t{1} << bits) + off);
    }
  }
  std::mt19937_64 random(3);
  const size_t rows = 20000;
  std::vector<std::array<int64_t, 4>> wanted(rows);
  std::vector<int64_t> rowids(rows);
  int64_t rowid = 0;
  for (size_t i = 0; i < rows; ++i) {
    rowid += 1 + static_cast<int64_t>(random() % (i % 100 == 0 ? uint64_t{1} << 46 : 3));
    rowids[i] = rowid;
    for (int64_t& value : wanted[i]) value = interesting[random() % interesting.size()];
  }
  const uint32_t root = Create();
  auto file = BulkFile::Open(path_);
  ASSERT_TRUE(file);
  TableBuilder builder([&](std::string_view page, int64_t last) { file->AddLeaf(page, last); });
  for (size_t i = 0; i < rows; ++i) builder.Append(rowids[i], wanted[i]);
  builder.Finish();
  ASSERT_TRUE(file->EndTable(root));
  ASSERT_TRUE(file->Close());

  Database db = Open();
  auto scan = db.Prepare("SELECT rowid, a, b, c, d FROM t");
  ASSERT_TRUE(scan);
  for (size_t i = 0; i < rows; ++i) {
    ASSERT_TRUE(*scan->Step());
    ASSERT_EQ(scan->Int64(0), rowids[i]);
    for (int c = 0; c < 4; ++c) {
      const int64_t want = wanted[i][static_cast<size_t>(c)];
      ASSERT_EQ(scan->IsNull(c + 1), want == kNullNumber);
      if (want == kNullNumber) continue;
      ASSERT_EQ(scan->Int64(c + 1), want);
    }
  }
  EXPECT_FALSE(*scan->Step());
  auto find = db.Prepare("SELECT count(*) FROM t WHERE rowid = ?");
  ASSERT_TRUE(find);
  for (size_t i = 0; i < rows; i += 97) {
    find->BindInt64(0, rowids[i]);
    ASSERT_TRUE(*find->Step());
    ASSERT_EQ(find->Int64(0), 1);
    find->Reset();
  }
}

// Leaves of one row each make trees of every shape with few rows.
TEST_F(TableBuilderTest, TreesOfEveryShapeAreSound) {
  std::vector<int64_t> sizes = {0, 1, 2, 3, 4, 5};
  // 12 bytes of header and 8 per child (4 page, 2 rowid, 2 pointer), fewer for small rowids. So one
  // interior page has a little more than 1022 children.
  for (int64_t n = 1020; n <= 1044; ++n) sizes.push_back(n);
  sizes.push_back(2100);
  for (const int64_t leaves : sizes) {
    const uint32_t root = Create();
    auto file = BulkFile::Open(path_);
    ASSERT_TRUE(file);
    for (int64_t i = 1; i <= leaves; ++i) {
      TableBuilder builder([&](std::string_view page, int64_t last) { file->AddLeaf(page, last); });
      const int64_t values[] = {i * i};
      builder.Append(i, values);
      builder.Finish();
    }
    ASSERT_TRUE(file->EndTable(root));
    ASSERT_TRUE(file->Close());
    Database db = Open();
    EXPECT_EQ(*db.QueryInt64("SELECT count(*) FROM t WHERE a = rowid * rowid"), leaves) << leaves;
    // SQLite can go on with the table.
    ASSERT_TRUE(db.Execute("INSERT INTO t VALUES(1,2,3,4); INSERT INTO u VALUES(8)"));
    EXPECT_EQ(*db.QueryInt64("SELECT max(rowid) FROM t"), leaves + 1);
  }
}

// Sixteen values come back; a seventeenth is never left out in silence.
TEST(TableBuilderDeathTest, MoreValuesThanFitEndTheProgram) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  std::vector<int64_t> values(16, 5);
  TableBuilder builder([](std::string_view, int64_t) {});
  builder.Append(1, values);
  EXPECT_EQ(builder.rows(), 1);
  values.push_back(5);
  EXPECT_DEATH(builder.Append(2, values), "");
}

TEST_F(TableBuilderTest, SpoolReturnsItsBytesUnchanged) {
  const uint32_t root = Create();
  PageSpool spool(path_);
  TableBuilder builder([&](std::string_view page, int64_t last) { spool.Add(page, last); });
  const int64_t rows = 950'000;  // 18 MB: more than stays in memory.
  for (int64_t i = 1; i <= rows; ++i) {
    const int64_t values[] = {i, -i * 1000003, i % 7};
    builder.Append(i, values);
  }
  builder.Finish();
  auto file = BulkFile::Open(path_);
  ASSERT_TRUE(file);
  ASSERT_TRUE(spool.Drain([&](std::string_view page, int64_t last) { file->AddLeaf(page, last); }));
  ASSERT_TRUE(file->EndTable(root));
  ASSERT_TRUE(file->Close());
  ASSERT_GT(std::filesystem::file_size(path_), size_t{17} << 20);
  Database db = Open();
  EXPECT_EQ(*db.QueryInt64("SELECT count(*) FROM t WHERE a = rowid AND b = -rowid * 1000003 AND "
                           "c = rowid % 7 AND d IS NULL"),
            rows);
}

}  // namespace
}  // namespace xlatrace::store
