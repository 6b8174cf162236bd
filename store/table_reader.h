// SPDX-License-Identifier: Apache-2.0

// Reads every row of a table directly from the pages of its database, for exports with millions of
// rows. SQLite's virtual machine costs 300 ns per row, plus its column reads; this reader costs
// some 40 ns. It is the counterpart of TableBuilder. The format is SQLite's own and stable
// (https://www.sqlite.org/fileformat2.html, sections 1.3, 1.6 and 2.1).
//
// Only plain tables are supported: an ordinary rowid table in UTF-8, without write-ahead log,
// generated columns, or a DEFAULT on a requested column. For others, Open returns nullopt and the
// caller uses SQL. Rows are in the order of rowid, and values equal those of the same SELECT (a
// test compares them).
//
// Foreign files: at most twice the number of the file's pages is visited, otherwise the table
// counts as damaged. At most the largest row is held in memory. Bytes are read through the
// connection's own file, under a read lock during the lifetime of the reader. Thread-safety: the
// thread of the Database, which must outlive the reader.

#ifndef XLATRACE_STORE_TABLE_READER_H_
#define XLATRACE_STORE_TABLE_READER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "store/sqlite.h"

struct sqlite3_file;

namespace xlatrace::store {

// SQLite's conversions.
int64_t IntegerOfReal(double real);
int64_t IntegerOfText(std::string_view text);
std::string TextOfReal(double real);

class TableReader {
 public:
  // Behaviour at a damaged page or row: fail there, or skip it and fail at the end of the table.
  enum class AtDamage : uint8_t { kFail, kSkip };

  // `path`: a database that can be opened. `columns` are numbered in this order for the getters, at
  // most 127. A column that the table lacks reads as NULL, except rowid, the key of the row.
  // nullopt: read this table with SQL.
  static std::optional<TableReader> Open(const std::string& path, const std::string& table,
                                         std::span<const std::string> columns,
                                         AtDamage at_damage = AtDamage::kFail);

  // Advances to the next row: false at the end. Fails if the table is damaged; no rows follow then.
  Result<bool> Next();
  // Number of skipped pages and rows.
  int64_t damaged_parts() const { return damaged_parts_; }

  // Column of the current row; texts are valid until Next. Conversions are those of SQLite.
  Statement::Type ColumnType(int column) const {
    // Section 2.1 of the format; 8 and 9 are the integers 0 and 1.
    const uint64_t serial = field(column).serial;
    if (serial == kNullSerialType) return Statement::Type::kNull;
    if (serial < 12) return serial == 7 ? Statement::Type::kReal : Statement::Type::kInteger;
    return serial % 2 == 0 ? Statement::Type::kBlob : Statement::Type::kText;
  }
  bool IsNull(int column) const { return field(column).serial == kNullSerialType; }
  int64_t Int64(int column) const {
    const Field& f = field(column);
    // Serial types 1 to 6 are big-endian integers.
    if (f.serial >= 1 && f.serial <= 6) {
      uint64_t bits = 0;
      std::memcpy(&bits, record_ + f.offset, sizeof(bits));  // Buffers have slack at the end.
      return static_cast<int64_t>(__builtin_bswap64(bits)) >>
             (64 - 8 * kIntegerBytes[static_cast<size_t>(f.serial)]);
    }
    return OtherInt64(f);
  }
  std::optional<int64_t> OptionalInt64(int column) const {
    if (IsNull(column)) return std::nullopt;
    return Int64(column);
  }
  double Real(int column) const;
  std::string_view Text(int column) const;

 private:
  static constexpr uint64_t kNullSerialType = 0;
  static constexpr uint64_t kRowidSerialType = 10;  // Reserved in files; here: the row's id.
  static constexpr int kIntegerBytes[] = {0, 1, 2, 3, 4, 6, 8};

  struct Field {
    uint64_t serial = kNullSerialType;
    uint64_t offset = 0;
  };
  // Rows of a table have few shapes: equal record headers mean equal types and offsets.
  struct Shape {
    static constexpr size_t kMaxHeaderBytes = 48;
    std::array<char, kMaxHeaderBytes> header = {};
    size_t header_bytes = 0;  // 0: none yet.
    uint64_t wanted_end = 0;  // End of the last requested value,
    uint64_t end = 0;         // and of the last decoded one.
    std::vector<Field> fields;
  };
  static constexpr size_t kMaxShapes = 64;
  // Children of an interior page in the current path.
  struct Level {
    std::vector<uint32_t> children;
    size_t next = 0;
  };

  struct Connection;
  struct CloseConnection {
    void operator()(Connection* connection) const;
  };

  TableReader() = default;
  const Field& field(int column) const { return row_[column]; }
  int64_t OtherInt64(const Field& f) const;
  double RealAt(const Field& f) const;
  // Both return false for tables that are not plain.
  bool OpenFile(const std::string& path);
  bool ReadSchema(const std::string& table, std::span<const std::string> columns);
  bool ReadFileHeader();
  Error Damaged(std::string_view what) const;
  // Loads page `number` into `page_`; up to `ahead` following pages of the file may be read with
  // it.
  Status LoadPage(uint32_t number, size_t ahead);
  // Next, which stops at damage.
  Result<bool> NextSound();
  // Walks down to the next leaf: false if there is none.
  Result<bool> NextLeaf();
  Status ReadCell();
  // Finds the values of the current row. False: only `record_size_` bytes of it are loaded, and
  // `need` bytes are required.
  Result<bool> Decode(uint64_t payload, uint64_t* need);
  // Reads the shape from the `header` bytes of the record, all loaded. The caller sets the shape's
  // own header.
  Status ReadShape(uint64_t header, uint64_t payload, Shape& shape) const;
  Status Gather(std::string_view local, uint32_t overflow_page, uint64_t size);

  std::unique_ptr<Connection, CloseConnection> connection_;
  sqlite3_file* file_ = nullptr;  // Owned by the connection.
  std::string table_;
  std::vector<int8_t> slot_of_column_;  // By column of the table up to the last requested one; -1:
                                        // skip.
  int rowid_slot_ = -1;                 // A column that is an alias of the rowid.
  std::vector<Field> no_fields_;        // For a row that ends before all columns.
  std::vector<Shape> shapes_;           // By the hash of the header, and one for long headers.
  const Field* row_ = nullptr;          // Fields of the current row.
  mutable std::vector<std::string> converted_;  // Texts of numbers, by column.

  uint32_t page_bytes_ = 0;
  uint32_t usable_bytes_ = 0;
  uint32_t page_count_ = 0;
  uint64_t pages_left_ = 0;  // Pages that may still be visited: a sound table has no cycles.
  std::vector<Level> levels_;
  std::string window_;  // Consecutive pages from window_first_ on, and slack.
  uint32_t window_first_ = 0;
  size_t window_pages_ = 0;
  const char* page_ = nullptr;
  size_t cells_ = 0;  // Number of cells of the leaf.
  size_t next_cell_ = 0;

  int64_t rowid_ = 0;
  const char* record_ = nullptr;
  uint64_t record_size_ = 0;
  std::string gathered_;  // A row that continues on overflow pages.
  bool ended_ = false;
  AtDamage at_damage_ = AtDamage::kFail;
  int64_t damaged_parts_ = 0;
  std::optional<Error> first_damage_;
  std::optional<int64_t> last_rowid_;  // Rowids of a table increase.
};

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_TABLE_READER_H_
