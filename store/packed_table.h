// SPDX-License-Identifier: Apache-2.0

// A result of a SELECT whose rows are packed, for dictionaries with millions of rows.
//
// A row of a Table takes 40 bytes per cell. A cell of a packed row has one byte for its type. An
// integer adds at most eight bytes, a real adds eight, and a text adds eight and its own bytes.
//
// Ownership: views of texts are valid as long as the table, also after it was moved.
// Thread-safety: immutable after loading.

#ifndef XLATRACE_STORE_PACKED_TABLE_H_
#define XLATRACE_STORE_PACKED_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "store/run_db.h"

namespace xlatrace::store {

class PackedTable {
 public:
  // Reads all rows of `sql`.
  static Result<PackedTable> Load(RunDb& db, std::string_view sql);

  size_t row_count() const { return rows_.size(); }
  size_t column_count() const { return columns_.size(); }
  // Position of a column. An unknown name is a programming error (aborts).
  size_t Column(std::string_view name) const;
  bool IsNull(size_t row, std::string_view column) const;
  int64_t Int(size_t row, std::string_view column, int64_t if_null = 0) const;
  double Real(size_t row, std::string_view column, double if_null = 0) const;
  std::string_view Text(size_t row, std::string_view column) const;  // NULL: "".
  Cell At(size_t row, size_t column) const;
  // All cells of a row.
  std::vector<Cell> Row(size_t row) const;

 private:
  // One value in its packed form.
  struct Value {
    Statement::Type type = Statement::Type::kNull;
    int64_t integer = 0;
    double real = 0;
    std::string_view text;
  };
  static Value Read(const char** at);
  static Cell CellOf(const Value& value);
  Value ValueAt(size_t row, size_t column) const;

  std::vector<std::string> columns_;
  std::deque<std::string> chunks_;  // Never grow beyond the size that they reserved.
  std::vector<const char*> rows_;   // Into chunks_.
};

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_PACKED_TABLE_H_
