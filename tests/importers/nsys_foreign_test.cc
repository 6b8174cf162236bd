// SPDX-License-Identifier: Apache-2.0

// Exports that were made or changed by hand: their contents are read or refused, never executed.

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "importers/nsys/nsys_sqlite.h"
#include "store/sqlite.h"
#include "tests/golden_text/golden_text.h"
#include "tests/importers/memory_sink.h"
#include "tests/unquoted_path.h"

namespace xlatrace::importers {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class NsysForeignTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              fmt::format("xlatrace_nsys_foreign_{}_{}", info->name(), getpid());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    path_ = folder_ / "export.sqlite";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Make(const std::string& sql) const {
    auto db = store::Database::Create(path_);
    ASSERT_TRUE(db);
    const Status made = db->Execute(sql);
    ASSERT_TRUE(made) << made.error().message;
  }

  // The refusal, or "" where the file is read.
  std::string Refusal() {
    const Status status = ImportNsysSqlite(path_, sink_);
    return status ? ""
                  : status.error().message + " | " + WithUnquotedPath(status.error().hint, path_);
  }

  int64_t Stat(const std::string& name) const {
    const auto stat = sink_.stats.find(name);
    return stat == sink_.stats.end() ? 0 : stat->second.value;
  }

  std::filesystem::path folder_;
  std::string path_;
  MemorySink sink_;
};

constexpr char kKernels[] =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, correlationId, "
    "globalPid);";

// A view has no limit of cost: products, endless recursion, values of gigabytes.
TEST_F(NsysForeignTest, ViewInPlaceOfATableIsRefused) {
  Make(
      "CREATE TABLE t (x); INSERT INTO t VALUES (1);"
      "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE r(start, end) AS (SELECT 1, 2 "
      "UNION "
      "ALL SELECT start + 1, end + 1 FROM r) SELECT * FROM r;");
  const std::string refusal = Refusal();
  EXPECT_THAT(refusal, AllOf(HasSubstr("CUPTI_ACTIVITY_KIND_KERNEL"),
                             HasSubstr("CREATE TABLE t AS SELECT")));
  EXPECT_GOLDEN_TEXT(refusal);
}

TEST_F(NsysForeignTest, ViewOfStringsOrRangesIsRefused) {
  for (const char* name : {"StringIds", "NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME"}) {
    std::filesystem::remove(path_);
    Make(
        fmt::format("{} CREATE VIEW {} AS SELECT 1 AS id, 'x' AS value, 1 AS start, 2 AS end, 3 AS "
                    "correlationId;",
                    kKernels, name));
    EXPECT_THAT(Refusal(), HasSubstr(name));
  }
}

// Generated columns are expressions that run for every row.
TEST_F(NsysForeignTest, GeneratedColumnIsIgnored) {
  Make(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, correlationId, "
      "globalPid, demangledName AS (hex(zeroblob(1000000))));"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 0, 7, 1, 0);");
  EXPECT_EQ(Refusal(), "");
  ASSERT_EQ(sink_.activities.size(), 1u);
  EXPECT_EQ(sink_.Config(sink_.activities[0]).symbol, "(unnamed)");
}

TEST_F(NsysForeignTest, ColumnNamesAreCaseInsensitive) {
  Make(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (START, END, DEVICEID, STREAMID, CORRELATIONID, "
      "GLOBALPID);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 25, 0, 7, 1, 0), (30, 50, 0, 7, 2, 0);");
  EXPECT_EQ(Refusal(), "");
  ASSERT_EQ(sink_.activities.size(), 2u);
  EXPECT_EQ(sink_.activities[1].end_ns - sink_.activities[1].start_ns, 20);
}

TEST_F(NsysForeignTest, TimesOtherThanNumbersAreLosses) {
  Make(
      std::string(kKernels) +
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ('abc', 20, 0, 7, 1, 0), (10, x'00', 0, 7, 2, "
      "0), (10.5, 20, 0, 7, 3, 0), ('10', '30', 0, 7, 4, 0), (40.0, 50, 0, 7, 5, 0);");
  EXPECT_EQ(Refusal(), "");
  // Digits as text come from files that went through CSV.
  ASSERT_EQ(sink_.activities.size(), 2u);
  EXPECT_EQ(sink_.activities[0].end_ns - sink_.activities[0].start_ns, 20);
  EXPECT_EQ(Stat("event_time_not_a_number"), 3);
}

TEST_F(NsysForeignTest, FileWithThousandsOfTablesIsRefused) {
  std::string sql = std::string(kKernels) + "BEGIN;";
  for (int i = 0; i < 5001; ++i) sql += fmt::format("CREATE TABLE t{} (x);", i);
  Make(sql + "COMMIT;");
  EXPECT_THAT(Refusal(), HasSubstr("5002"));
}

// Uncommitted pages that a writer stored in the file are not part of it.
TEST_F(NsysForeignTest, FileWithAnUnfinishedTransactionIsRefused) {
  Make(std::string(kKernels) +
       "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 0, 7, 1, 0);");
  // https://www.sqlite.org/fileformat2.html section 3: magic, -1 pages counted from the size,
  // nonce, pages before, sector size, page size.
  std::string header("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 8);
  header += std::string("\0\0\0\1\0\0\0\0\0\0\0\1\0\0\2\0\0\0\x10\0", 20);
  header.resize(512 + 4096 + 8, '\1');
  std::ofstream(path_ + "-journal", std::ios::binary) << header;
  std::filesystem::permissions(
      folder_, std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  const std::string refusal = Refusal();
  std::filesystem::permissions(folder_, std::filesystem::perms::owner_all);
  EXPECT_THAT(refusal, AllOf(HasSubstr("export.sqlite"), HasSubstr("sqlite3 ")));
  EXPECT_GOLDEN_TEXT(refusal);
  EXPECT_TRUE(sink_.activities.empty());
}

TEST_F(NsysForeignTest, FileWithAnActiveWriterIsRefused) {
  Make(std::string(kKernels) +
       "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 0, 7, 1, 0);");
  auto writer = store::Database::OpenOurs(path_);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->Execute("PRAGMA journal_mode=DELETE"));
  ASSERT_TRUE(writer->Execute("BEGIN EXCLUSIVE; DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL"));
  EXPECT_GOLDEN_TEXT(Refusal());
  EXPECT_TRUE(sink_.activities.empty());
}

TEST_F(NsysForeignTest, FileWithChangesInItsLogIsRefused) {
  Make(kKernels);
  auto writer = store::Database::OpenOurs(path_);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->Execute("PRAGMA journal_mode=WAL"));
  ASSERT_TRUE(
      writer->Execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 0, 7, 1, 0)"));
  EXPECT_GOLDEN_TEXT(Refusal());
}

// Opening a FIFO waits for a process at its other end.
TEST_F(NsysForeignTest, FifoNamedAsTheJournalIsRefusedWithoutWaiting) {
  for (const char* suffix : {"-journal", "-wal"}) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    Make(kKernels);
    ASSERT_EQ(mkfifo((path_ + suffix).c_str(), 0600), 0);
    const std::string refusal = Refusal();
    EXPECT_THAT(refusal, HasSubstr(path_ + suffix));
    EXPECT_GOLDEN_TEXT(refusal);
  }
}

}  // namespace
}  // namespace xlatrace::importers
