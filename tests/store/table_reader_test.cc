// SPDX-License-Identifier: Apache-2.0

// store/table_reader.h: what it gives equals the same SELECT, and what it does not read it leaves.

#include "store/table_reader.h"

#include <unistd.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace xlatrace::store {
namespace {

const std::vector<std::string> kColumns = {"a", "b", "missing", "d", "id"};

class TableReaderTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::temp_directory_path() /
            fmt::format("xlatrace_reader_{}_{}.sqlite", info->name(), getpid());
    std::filesystem::remove(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  void Make(const std::string& sql, int page_bytes = 4096) {
    std::filesystem::remove(path_);
    auto db = Database::Create(path_);
    ASSERT_TRUE(db);
    const Status made =
        db->Execute(fmt::format("PRAGMA page_size={}; VACUUM; {}", page_bytes, sql));
    ASSERT_TRUE(made) << made.error().message;
  }

  static bool IsNumber(Statement::Type type) {
    return type == Statement::Type::kInteger || type == Statement::Type::kReal;
  }
  static std::string Cell(Statement::Type type, int64_t integer, double real,
                          std::string_view text) {
    return fmt::format("{} {} {} '{}'", static_cast<int>(type), integer, real, text);
  }

  // Compares every value of every row through every accessor, from the pages and by SQL.
  void ExpectSameAsSql(const std::string& select_missing_as_null) {
    auto db = Database::OpenForeign(path_);
    ASSERT_TRUE(db);
    auto reader = TableReader::Open(path_, "t", kColumns);
    ASSERT_TRUE(reader) << "left to SQL";
    auto rows = db->Prepare(select_missing_as_null);
    ASSERT_TRUE(rows) << rows.error().message;
    int64_t count = 0;
    while (true) {
      const Result<bool> expected = rows->Step();
      const Result<bool> got = reader->Next();
      ASSERT_TRUE(expected && got) << (got ? "" : got.error().message);
      ASSERT_EQ(*expected, *got) << "after row " << count;
      if (!*got) break;
      ++count;
      for (int c = 0; c < static_cast<int>(kColumns.size()); ++c) {
        // The type is read first, because reading a text may change it.
        const auto type = rows->ColumnType(c);
        EXPECT_EQ(rows->OptionalInt64(c), reader->OptionalInt64(c)) << "row " << count;
        ASSERT_EQ(Cell(type, rows->Int64(c), IsNumber(type) ? rows->Real(c) : 0, rows->Text(c)),
                  Cell(reader->ColumnType(c), reader->Int64(c),
                       IsNumber(type) ? reader->Real(c) : 0, reader->Text(c)))
            << "row " << count << " column " << kColumns[static_cast<size_t>(c)];
      }
    }
    EXPECT_FALSE(reader->Next().value_or(true));
  }

  bool LeftToSql(const std::string& table = "t") {
    return !TableReader::Open(path_, table, kColumns);
  }

  std::string path_;
};

// Integers of every width, reals, texts from empty to several pages, blobs and NULLs. The tree has
// at least two levels, deleted rows and freed pages.
std::string MixedRows(int rows, size_t longest, uint32_t seed) {
  std::mt19937_64 random(seed);
  std::string sql =
      "BEGIN; CREATE TABLE u (x); CREATE TABLE t (a INTEGER, b TEXT, c BLOB, d, "
      "id INTEGER PRIMARY KEY);";
  const auto value = [&]() -> std::string {
    switch (random() % 9) {
      case 0:
        return "NULL";
      case 1:
        return std::to_string(static_cast<int64_t>(random() % 3) - 1);
      case 2:
      case 3:
        return std::to_string(static_cast<int64_t>(random()) >> random() % 64);
      case 4:
        return fmt::format("{}.25", static_cast<int64_t>(random() % 100'000) - 50'000);
      case 5:
        return "1e300";
      case 6:
        return fmt::format("'{}abc'", random() % 1000);
      case 7:
        return fmt::format("x'{:016x}'", random());
      default:
        return fmt::format("'{}'", std::string(random() % longest, 'q'));
    }
  };
  for (int i = 0; i < rows; ++i) {
    sql += fmt::format("INSERT INTO t VALUES ({}, {}, {}, {}, {});", value(), value(), value(),
                       value(), i * 3 - 100);
    if (i % 50 == 0) sql += fmt::format("INSERT INTO u VALUES ({});", value());
  }
  return sql +
         "DELETE FROM t WHERE id % 7 = 0; DELETE FROM u;"
         "ALTER TABLE t ADD COLUMN later TEXT; COMMIT;";
}

TEST_F(TableReaderTest, ReaderGivesTheRowsOfSql) {
  for (const int page_bytes : {512, 4096, 65536}) {
    SCOPED_TRACE(page_bytes);
    Make(MixedRows(1000, 3000, static_cast<uint32_t>(page_bytes)), page_bytes);
    ExpectSameAsSql("SELECT a, b, NULL, d, id FROM t");
  }
}

// Whole numbers with a point, exponents, rounding to 15 digits, infinities: all as SQLite has them.
TEST_F(TableReaderTest, RealsAsTextAreThoseOfSqlite) {
  std::vector<double> reals = {0.0,
                               -0.0,
                               1.0,
                               -1.0,
                               0.1,
                               1.0 / 3,
                               1e15,
                               1e16,
                               1e-4,
                               1e-5,
                               123456789012345678.0,
                               999999999999999.5,
                               9999999999999995.0,
                               2.5e-308,
                               1e300,
                               std::numeric_limits<double>::max(),
                               std::numeric_limits<double>::lowest(),
                               std::numeric_limits<double>::min(),
                               std::numeric_limits<double>::denorm_min(),
                               -std::numeric_limits<double>::denorm_min(),
                               std::numeric_limits<double>::infinity(),
                               -std::numeric_limits<double>::infinity()};
  for (int exponent = -30; exponent <= 30; ++exponent) {
    const double power = std::pow(10.0, exponent);
    for (const double real : {power, std::nextafter(power, 0.0), 5 * power}) reals.push_back(real);
  }
  std::mt19937_64 random(11);
  for (int i = 0; i < 20'000; ++i) {
    // Any bits; then such as occur: whole numbers, and those with few digits.
    reals.push_back(std::bit_cast<double>(random()));
    reals.push_back(static_cast<double>(static_cast<int64_t>(random()) >> random() % 64));
    reals.push_back(static_cast<double>(random() % 1'000'000) / 1000);
  }
  {
    auto db = Database::Create(path_);
    ASSERT_TRUE(db) << db.error().message;
    ASSERT_TRUE(db->Execute("BEGIN; CREATE TABLE t (a, b TEXT, d, id INTEGER PRIMARY KEY);"));
    auto insert = db->Prepare("INSERT INTO t (d) VALUES (?)");
    ASSERT_TRUE(insert);
    for (const double real : reals) {
      insert->BindReal(0, real);
      ASSERT_TRUE(insert->Step());
      insert->Reset();
    }
    ASSERT_TRUE(db->Execute("COMMIT"));
  }
  ExpectSameAsSql("SELECT a, b, NULL, d, id FROM t");
  // And what that is, so that both cannot be wrong together.
  EXPECT_EQ(TextOfReal(1), "1.0");
  EXPECT_EQ(TextOfReal(-2), "-2.0");
  EXPECT_EQ(TextOfReal(1e300), "1.0e+300");
  EXPECT_EQ(TextOfReal(0.25), "0.25");
}

TEST_F(TableReaderTest, RowsOlderThanAColumnHaveNullThere) {
  Make(
      "CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 'x'); ALTER TABLE t ADD COLUMN d;"
      "INSERT INTO t VALUES (2, 'y', 3);");
  ExpectSameAsSql("SELECT a, b, NULL, d, NULL FROM t");
}

TEST_F(TableReaderTest, ColumnNamedRowidIsNotTheKey) {
  Make(
      "CREATE TABLE t (a); INSERT INTO t VALUES (7); ALTER TABLE t ADD COLUMN rowid;"
      "INSERT INTO t VALUES (8, 'x'); INSERT INTO t VALUES (9, NULL);");
  auto reader = TableReader::Open(path_, "t", std::vector<std::string>{"rowid", "a"});
  ASSERT_TRUE(reader);
  for (const char* rowid : {"", "x", ""}) {
    ASSERT_TRUE(reader->Next().value_or(false));
    EXPECT_EQ(reader->IsNull(0), *rowid == '\0');
    EXPECT_EQ(reader->Text(0), rowid);
  }
}

// Rows of equal headers are decoded once. The tables have many shapes, headers around the longest
// cached one, and rows that recur after others.
TEST_F(TableReaderTest, RowsOfManyShapesEqualSql) {
  for (const int columns : {3, 40, 46, 47, 48, 60}) {
    SCOPED_TRACE(columns);
    std::string sql = "BEGIN; CREATE TABLE t (a, b";
    for (int c = 2; c < columns; ++c) sql += fmt::format(", c{}", c);
    sql += ", d, id INTEGER PRIMARY KEY);";
    for (int row = 0; row < 600; ++row) {
      // Widths change in every place, in periods that do not fit each other.
      const auto value = [&](int c) {
        return int64_t{1} << (8 * ((row + 5 * c) % (c % 7 + 2)) % 62);
      };
      sql += fmt::format("INSERT INTO t VALUES ({}, '{}'", value(0), std::string(row % 90, 'b'));
      for (int c = 2; c < columns; ++c) {
        sql += c % 11 == row % 11 ? ", NULL" : fmt::format(", {}", value(c));
      }
      sql += fmt::format(", {}, {});", value(columns), row);
    }
    Make(sql + "COMMIT;");
    ExpectSameAsSql("SELECT a, b, NULL, d, id FROM t");
  }
}

TEST_F(TableReaderTest, RowidMayHaveTheNameOfThePrimaryKey) {
  Make("CREATE TABLE t (a, b INTEGER PRIMARY KEY); INSERT INTO t VALUES (5, -7), (6, 1000000);");
  auto reader = TableReader::Open(path_, "t", std::vector<std::string>{"rowid", "a", "b"});
  ASSERT_TRUE(reader);
  for (const int64_t rowid : {-7, 1'000'000}) {
    ASSERT_TRUE(reader->Next().value_or(false));
    EXPECT_EQ(reader->Int64(0), rowid);
    EXPECT_EQ(reader->Int64(2), rowid);
    EXPECT_EQ(reader->Text(0), std::to_string(rowid));
  }
  EXPECT_FALSE(reader->Next().value_or(true));
}

TEST_F(TableReaderTest, AnEmptyTableHasNoRows) {
  Make("CREATE TABLE t (a, b, d);");
  ExpectSameAsSql("SELECT a, b, NULL, d, NULL FROM t");
}

TEST_F(TableReaderTest, UnsupportedTablesAreLeftToSql) {
  Make("CREATE TABLE t (a INT, b TEXT, PRIMARY KEY (a)) WITHOUT ROWID;");
  EXPECT_TRUE(LeftToSql());
  Make("CREATE TABLE u (a); CREATE VIEW t AS SELECT a FROM u;");
  EXPECT_TRUE(LeftToSql());
  EXPECT_TRUE(LeftToSql("nowhere"));
  Make("CREATE TABLE t (a); INSERT INTO t VALUES (1); ALTER TABLE t ADD COLUMN b DEFAULT 7;");
  EXPECT_TRUE(LeftToSql());
  Make("CREATE TABLE t (a, b AS (a + 1));");
  EXPECT_TRUE(LeftToSql());
  Make("CREATE TABLE t (a); PRAGMA journal_mode=WAL; INSERT INTO t VALUES (1);");
  EXPECT_TRUE(LeftToSql());
  Make("PRAGMA encoding='UTF-16le'; CREATE TABLE t (a); INSERT INTO t VALUES (1);");
  EXPECT_TRUE(LeftToSql());
}

// For any content of the pages, reading ends with the remaining rows or with an error.
TEST_F(TableReaderTest, DamagedPageEndsTheTableWithAnError) {
  Make(MixedRows(300, 2000, 5), 512);
  std::ostringstream whole;
  whole << std::ifstream(path_, std::ios::binary).rdbuf();
  const std::string bytes = whole.str();
  std::mt19937 random(20);
  int refused = 0;
  for (int round = 0; round < 400; ++round) {
    std::string damaged = bytes;
    if (round % 10 == 0) {
      damaged.resize(random() % bytes.size());
    } else {
      for (int i = 0; i < 1 + round % 20; ++i) {
        damaged[512 + random() % (bytes.size() - 512)] = static_cast<char>(random());
      }
    }
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << damaged;
    auto reader = TableReader::Open(path_, "t", kColumns);
    if (!reader) continue;
    int64_t rows = 0;
    while (true) {
      const Result<bool> more = reader->Next();
      refused += !more;
      if (!more || !*more) break;
      for (int c = 0; c < static_cast<int>(kColumns.size()); ++c) {
        (void)reader->Int64(c);
        (void)reader->Text(c);
      }
      ASSERT_LT(++rows, static_cast<int64_t>(bytes.size()));
    }
  }
  EXPECT_GT(refused, 40);
}

// The root page is its own child: SQLite's depth limit and the count of pages end it.
TEST_F(TableReaderTest, CyclicPagesTerminate) {
  Make("CREATE TABLE t (a, b, d); INSERT INTO t VALUES (1, 2, 3);", 512);
  std::string page(512, '\0');
  page[0] = 5;
  page[4] = 100;  // A hundred children, all of them page 2.
  for (int i = 0; i < 100; ++i) page[static_cast<size_t>(12 + 2 * i)] = 1;
  for (int i = 0; i < 100; ++i) page[static_cast<size_t>(13 + 2 * i)] = 8;
  page[264 + 3] = 2;
  page[11] = 2;
  std::fstream(path_, std::ios::in | std::ios::out | std::ios::binary).seekp(512) << page;
  auto reader = TableReader::Open(path_, "t", kColumns);
  ASSERT_TRUE(reader);
  EXPECT_FALSE(reader->Next());
}

}  // namespace
}  // namespace xlatrace::store
