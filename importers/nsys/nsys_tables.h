// SPDX-License-Identifier: Apache-2.0

// Reading tables of which neither the existence nor the columns are certain.
//
// Thread-safety: one thread.

#ifndef XLATRACE_IMPORTERS_NSYS_NSYS_TABLES_H_
#define XLATRACE_IMPORTERS_NSYS_NSYS_TABLES_H_

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "importers/common/counters.h"
#include "store/full_scan.h"
#include "store/sqlite.h"

namespace xlatrace::importers {

// An export writes 0 for an unknown value.
inline std::optional<int64_t> Positive(const std::optional<int64_t>& value) {
  return value && *value > 0 ? value : std::nullopt;
}

// One pass over a table: requested columns that the table lacks read as NULL.
class TableScan {
 public:
  // `found` is false if there is no such table, or if the table lacks a column of `required`. A
  // table that exists only with a suffix such as `_V2` is read under the name `table`.
  static Result<TableScan> Open(store::Database& db, const std::string& table,
                                std::initializer_list<std::string_view> columns,
                                std::initializer_list<std::string_view> required);

  bool found() const { return found_; }
  // Next row; false at the end. A damaged table ends early, which is counted.
  bool Next(Counters& counters);

  std::optional<int64_t> Int(int column) const { return rows_.OptionalInt64(column); }
  [[gnu::always_inline]] int64_t IntOr(int column, int64_t otherwise) const {
    return rows_.Int64Or(column, otherwise);
  }
  bool IsNull(int column) const { return rows_.IsNull(column); }
  store::Statement::Type TypeOf(int column) const { return rows_.ColumnType(column); }
  bool IsText(int column) const { return TypeOf(column) == store::Statement::Type::kText; }
  double Real(int column) const { return rows_.Real(column); }
  std::string_view Text(int column) const { return rows_.Text(column); }

 private:
  bool found_ = false;
  std::string table_;
  store::FullScan rows_;
};

// The columns that every table of events has.
inline constexpr std::string_view kStartColumn = "start";
inline constexpr std::string_view kEndColumn = "end";
// Larger times are damage. Sums of smaller times and shifts cannot overflow.
inline constexpr int64_t kLatestNs = std::numeric_limits<int64_t>::max() / 4;
// Columns 0 and 1 of a scan as an interval, `shift_ns` later; false (counted) when impossible.
bool ReadInterval(const TableScan& scan, int64_t shift_ns, Counters& counters, int64_t& start_ns,
                  int64_t& end_ns);

// StringIds. Returns an empty text for unknown ids.
class InternedStrings {
 public:
  Status Read(store::Database& db, Counters& counters);
  std::string_view Get(int64_t id) const;
  // Value of a column that holds either an id or the text itself.
  std::string_view Of(const TableScan& scan, int column) const {
    if (scan.IsText(column)) return scan.Text(column);
    return scan.IsNull(column) ? std::string_view() : Get(scan.IntOr(column, -1));
  }

 private:
  std::vector<std::string> dense_;  // By id, because exports count ids from 0.
  std::unordered_map<int64_t, std::string> others_;
};

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_NSYS_NSYS_TABLES_H_
