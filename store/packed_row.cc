// SPDX-License-Identifier: Apache-2.0
#include "store/packed_row.h"

#include <fmt/format.h>

namespace xlatrace::store {

std::string PackedTableSql() {
  std::string sql = fmt::format("CREATE TABLE {}(", kPackedActivity);
  for (const std::string_view column : kPackedColumns) {
    const bool always = column == NameOf(PackedColumn::kKind) ||
                        column == NameOf(PackedColumn::kSlot) ||
                        column == NameOf(PackedColumn::kStart);
    sql +=
        fmt::format("{}{} INT{}", sql.back() == '(' ? "" : ", ", column, always ? " NOT NULL" : "");
  }
  return sql + ");\n";
}

std::string PackedGapCauseSql() { return fmt::format("r.gap & {}", (1 << kGapCauseBits) - 1); }
std::string PackedGapPreviousSql() { return fmt::format("r.rowid - (r.gap >> {})", kGapCauseBits); }

}  // namespace xlatrace::store
