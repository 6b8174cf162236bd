// SPDX-License-Identifier: Apache-2.0

// One pass over a table, directly from its pages if possible (table_reader.h), or else with SQL.
//
// Thread-safety: one thread.

#ifndef XLATRACE_STORE_FULL_SCAN_H_
#define XLATRACE_STORE_FULL_SCAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "store/sqlite.h"
#include "store/table_reader.h"

namespace xlatrace::store {

class FullScan {
 public:
  // An empty scan.
  FullScan() = default;

  // `path`: the database in which `sql` is prepared. `columns` are the columns of `sql`, in its
  // order ("rowid" may be one). `sql` selects all rows of `table` in the order of rowid. `prepare`:
  // Database::Prepare or RunDb::Prepare.
  template <typename Prepare>
  static Result<FullScan> Open(const std::string& path, const std::string& table,
                               const std::vector<std::string>& columns, std::string_view sql,
                               Prepare prepare,
                               TableReader::AtDamage at_damage = TableReader::AtDamage::kFail) {
    FullScan scan;
    scan.pages_ = TableReader::Open(path, table, columns, at_damage);
    if (scan.pages_) return scan;
    XLATRACE_ASSIGN(scan.statement_, prepare(sql));
    return scan;
  }

  // Advances to the next row: false at the end, an error if the table is damaged.
  Result<bool> Next() { return pages_ ? pages_->Next() : statement_.Step(); }

  // Number of skipped pages and rows; 1 if it is not known.
  int64_t damaged_parts() const { return pages_ ? pages_->damaged_parts() : 1; }

  // Column of the current row; texts are valid until Next.
  Statement::Type ColumnType(int column) const {
    return pages_ ? pages_->ColumnType(column) : statement_.ColumnType(column);
  }
  bool IsNull(int column) const {
    return pages_ ? pages_->IsNull(column) : statement_.IsNull(column);
  }
  int64_t Int64(int column) const {
    return pages_ ? pages_->Int64(column) : statement_.Int64(column);
  }
  // A large export calls this some fifty million times.
  [[gnu::always_inline]] int64_t Int64Or(int column, int64_t otherwise) const {
    if (pages_) return pages_->IsNull(column) ? otherwise : pages_->Int64(column);
    return statement_.IsNull(column) ? otherwise : statement_.Int64(column);
  }
  std::optional<int64_t> OptionalInt64(int column) const {
    return pages_ ? pages_->OptionalInt64(column) : statement_.OptionalInt64(column);
  }
  double Real(int column) const { return pages_ ? pages_->Real(column) : statement_.Real(column); }
  std::string_view Text(int column) const {
    return pages_ ? pages_->Text(column) : statement_.Text(column);
  }

 private:
  std::optional<TableReader> pages_;
  Statement statement_;
};

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_FULL_SCAN_H_
