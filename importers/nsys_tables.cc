#include "importers/nsys_tables.h"

#include <algorithm>

#include <fmt/format.h>

namespace xlatrace::importers {

Result<TableScan> TableScan::Open(store::Database& db, const std::string& table,
                                  std::initializer_list<std::string_view> columns,
                                  std::initializer_list<std::string_view> required,
                                  std::string_view where) {
  TableScan scan;
  scan.table_ = table;
  XLATRACE_ASSIGN(const std::vector<std::string> present, db.ColumnNames(table));
  const auto has = [&](std::string_view name) {
    return std::find(present.begin(), present.end(), name) != present.end();
  };
  if (present.empty() || !std::all_of(required.begin(), required.end(), has)) return scan;
  std::string sql = "SELECT ";
  for (const std::string_view column : columns) {
    if (sql.size() > 7) sql += ", ";
    // Both are words of this program, never text of the file.
    sql += has(column) ? fmt::format("\"{}\"", column) : "NULL";
  }
  sql += fmt::format(" FROM \"{}\"", table);
  if (!where.empty()) sql.append(" WHERE ").append(where);
  XLATRACE_ASSIGN(scan.statement_, db.Prepare(sql));
  scan.found_ = true;
  return scan;
}

bool TableScan::Next(Counters& counters) {
  if (!found_) return false;
  const Result<bool> row = statement_.Step();
  if (row) return *row;
  counters.Add("table_damaged", model::Severity::kDataLoss, 1,
               fmt::format("the rest of {} could not be read: {}", table_, row.error().message));
  found_ = false;
  return false;
}

void TableScan::AppendKey(int column, std::string& key) const {
  const store::Statement::Type type = statement_.ColumnType(column);
  if (type == store::Statement::Type::kText) {
    key.append(statement_.Text(column)).push_back('\0');
    return;
  }
  const int64_t value =
      type == store::Statement::Type::kNull ? INT64_MIN : statement_.Int64(column);
  key.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

Status InternedStrings::Read(store::Database& db, Counters& counters) {
  XLATRACE_ASSIGN(TableScan scan,
                  TableScan::Open(db, "StringIds", {"id", "value"}, {"id", "value"}));
  while (scan.Next(counters)) {
    strings_.insert_or_assign(scan.IntOr(0, -1), std::string(scan.Text(1)));
  }
  return {};
}

std::string_view InternedStrings::Get(int64_t id) const {
  const auto it = strings_.find(id);
  return it == strings_.end() ? std::string_view() : std::string_view(it->second);
}

}  // namespace xlatrace::importers
