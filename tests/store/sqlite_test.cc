// SPDX-License-Identifier: Apache-2.0

// Operations that a statement on an untrusted file may do.

#include "store/sqlite.h"

#include <unistd.h>

#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/golden_text/golden_text.h"

namespace xlatrace::store {
namespace {

class ForeignDatabaseTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::temp_directory_path() /
            fmt::format("xlatrace_sqlite_{}_{}.db", info->name(), getpid());
    std::filesystem::remove(path_);
    auto db = Database::Create(path_);
    ASSERT_TRUE(db);
    ASSERT_TRUE(db->Execute("CREATE TABLE t (x); INSERT INTO t VALUES ('[1,2,3]')"));
  }
  void TearDown() override {
    Database::SetMemoryLimit(0);
    std::filesystem::remove(path_);
  }

  // The first value, or the error.
  static std::string Answer(Result<Database> db, const std::string& sql) {
    if (!db) return db.error().message;
    const auto value = db->QueryInt64(sql);
    if (!value) return value.error().message;
    return *value ? std::to_string(**value) : "NULL";
  }

  std::string path_;
};

TEST_F(ForeignDatabaseTest, JsonFunctionsWorkOnAColumn) {
  EXPECT_EQ(Answer(Database::OpenForeign(path_), "SELECT sum(value) FROM t, json_each(t.x)"), "6");
  EXPECT_EQ(Answer(Database::OpenForeign(path_), "SELECT count(*) FROM t, json_tree(t.x)"), "4");
}

TEST_F(ForeignDatabaseTest, FunctionsThatReachOutsideAreRefused) {
  for (const char* call : {"fts3_tokenizer('simple')", "fts3_tokenizer('a', x'0000000000000000')",
                           "load_extension('x')", "readfile('/etc/passwd')",
                           "writefile('/tmp/x', 'y')", "edit('x')"}) {
    EXPECT_THAT(Answer(Database::OpenForeign(path_), fmt::format("SELECT {}", call)),
                testing::StartsWith("SQL: "))
        << call;
  }
}

TEST_F(ForeignDatabaseTest, WritingAttachingAndPragmasAreRejected) {
  for (const char* sql : {"INSERT INTO t VALUES (1)", "ATTACH ':memory:' AS m",
                          "PRAGMA writable_schema=ON", "PRAGMA temp_store_directory='/tmp'",
                          "CREATE TEMP TABLE u (x)", "VACUUM INTO '/tmp/x.db'"}) {
    EXPECT_THAT(Answer(Database::OpenForeign(path_), sql), testing::Not(testing::HasSubstr("NULL")))
        << sql;
  }
  EXPECT_EQ(Answer(Database::OpenForeign(path_), "SELECT count(*) FROM t"), "1");
}

TEST_F(ForeignDatabaseTest, QueryMemoryHasALimit) {
  auto db = Database::OpenForeign(path_);
  ASSERT_TRUE(db);
  Database::SetMemoryLimit(50'000'000);
  const auto sorted = db->QueryInt64(
      "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r LIMIT 3000000) SELECT n FROM "
      "r "
      "ORDER BY n * 7 % 1000003 LIMIT 1 OFFSET 2999999");
  ASSERT_FALSE(sorted);
  EXPECT_GOLDEN_TEXT(sorted.error().message);
}

TEST_F(ForeignDatabaseTest, ATraceMayUseOnlyTheFunctionsOfImporters) {
  EXPECT_EQ(Answer(Database::OpenTrace(path_), "SELECT count(*) FROM t"), "1");
  for (const char* sql : {"SELECT hex(zeroblob(10)) FROM t", "SELECT printf('%1000d', 1) FROM t",
                          "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r LIMIT 3) "
                          "SELECT n FROM r"}) {
    EXPECT_THAT(Answer(Database::OpenTrace(path_), sql), testing::StartsWith("SQL: ")) << sql;
  }
}

}  // namespace
}  // namespace xlatrace::store
