// One pass over a table: from its pages where that can be done (table_reader.h), else with SQL. Of
// large tables the rows are decoded ahead on a second core (read_ahead.h); what is read is the
// same.
//
// Thread-safety: one thread calls.

#ifndef XLATRACE_STORE_FULL_SCAN_H_
#define XLATRACE_STORE_FULL_SCAN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "store/read_ahead.h"
#include "store/sqlite.h"
#include "store/table_reader.h"

namespace xlatrace::store {

class FullScan {
  template <typename Getter>
  auto Get(Getter getter) const {
    if (ahead_) return getter(*ahead_);
    return pages_ ? getter(*pages_) : getter(statement_);
  }

 public:
  // Reads nothing.
  FullScan() = default;

  // `path`: the database that `sql` is prepared in. `columns` are those that `sql` selects, in its
  // order ("rowid" may be one); `sql` selects all rows of `table` in the order of rowid.
  // `prepare`: Database::Prepare or RunDb::Prepare.
  template <typename Prepare>
  static Result<FullScan> Open(const std::string& path, const std::string& table,
                               const std::vector<std::string>& columns, std::string_view sql,
                               Prepare prepare) {
    FullScan scan;
    scan.columns_ = columns.size();
    scan.pages_ = TableReader::Open(path, table, columns);
    if (scan.pages_) return scan;
    XLATRACE_ASSIGN(scan.statement_, prepare(sql));
    return scan;
  }

  // The next row: false at the end, an error where the table is damaged.
  Result<bool> Next() {
    if (ahead_) return ahead_->Next();
    if (!pages_) return statement_.Step();
    // A thread costs more than a small table.
    if (++rows_ > kRowsAlone && std::thread::hardware_concurrency() > 1) {
      ahead_ = std::make_unique<ReadAhead>(std::move(*pages_), columns_);
      return ahead_->Next();
    }
    return pages_->Next();
  }

  // Of the current row; texts are valid until Next.
  Statement::Type ColumnType(int column) const {
    return Get([column](const auto& rows) { return rows.ColumnType(column); });
  }
  bool IsNull(int column) const {
    return Get([column](const auto& rows) { return rows.IsNull(column); });
  }
  int64_t Int64(int column) const {
    return Get([column](const auto& rows) { return rows.Int64(column); });
  }
  std::optional<int64_t> OptionalInt64(int column) const {
    // Asked for some fifty million times in a large import, nearly always of rows read ahead.
    if (ahead_) return ahead_->OptionalInt64(column);
    return pages_ ? pages_->OptionalInt64(column) : statement_.OptionalInt64(column);
  }
  double Real(int column) const {
    return Get([column](const auto& rows) { return rows.Real(column); });
  }
  std::string_view Text(int column) const {
    return Get([column](const auto& rows) { return rows.Text(column); });
  }

 private:
  static constexpr uint64_t kRowsAlone = 20'000;

  size_t columns_ = 0;
  uint64_t rows_ = 0;
  std::unique_ptr<ReadAhead> ahead_;  // From pages_, which is then empty.
  std::optional<TableReader> pages_;
  Statement statement_;
};

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_FULL_SCAN_H_
