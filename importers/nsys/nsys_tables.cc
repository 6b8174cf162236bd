// SPDX-License-Identifier: Apache-2.0
#include "importers/nsys/nsys_tables.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "importers/common/text_fields.h"

namespace xlatrace::importers {

namespace {

// `table`, or the latest of TABLE_V2, TABLE_V3 ... where the export numbers its tables.
Result<std::string> NameInFile(store::Database& db, const std::string& table) {
  XLATRACE_ASSIGN(const std::vector<std::string> columns, db.ColumnNames(table));
  if (!columns.empty()) return table;
  XLATRACE_ASSIGN(store::Statement names,
                  db.Prepare("SELECT name FROM sqlite_master WHERE type = 'table'"));
  std::string latest = table;
  int64_t version = 0;
  while (true) {
    XLATRACE_ASSIGN(const bool row, names.Step());
    if (!row) return latest;
    const std::string_view name = names.Text(0);
    if (!name.starts_with(table + "_V")) continue;
    const auto number = ParseInt(name.substr(table.size() + 2));
    if (number && *number > version) {
      version = *number;
      latest = std::string(name);
    }
  }
}

bool EqualsIgnoreCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; };
    return lower(x) == lower(y);
  });
}

// NULL is what the asker makes of it. Files that went through CSV have digits as text.
bool IsTime(const TableScan& scan, int column) {
  switch (scan.TypeOf(column)) {
    case store::Statement::Type::kNull:
    case store::Statement::Type::kInteger:
      return true;
    case store::Statement::Type::kReal: {
      const double real = scan.Real(column);
      return real == std::floor(real) && std::abs(real) < 9e15;
    }
    case store::Statement::Type::kText:
      return ParseInt(scan.Text(column)).has_value();
    default:
      return false;
  }
}

}  // namespace

Result<TableScan> TableScan::Open(store::Database& db, const std::string& name,
                                  std::initializer_list<std::string_view> columns,
                                  std::initializer_list<std::string_view> required) {
  TableScan scan;
  XLATRACE_ASSIGN(const std::string table, NameInFile(db, name));
  scan.table_ = table;
  XLATRACE_ASSIGN(const std::vector<std::string> present, db.ColumnNames(table));
  if (present.empty()) {
    XLATRACE_ASSIGN(const bool is_view, db.IsView(table));
    if (is_view) {
      return MakeError(
          fmt::format("{} is a view or a virtual table there, and xlatrace runs no SQL of a file",
                      name),
          fmt::format(
              "store its rows: sqlite3 FILE 'CREATE TABLE t AS SELECT * FROM {0}; DROP VIEW "
              "{0}; ALTER TABLE t RENAME TO {0}'",
              name));
    }
  }
  // Names in SQL are case-insensitive.
  const auto find = [&](std::string_view column) {
    return std::find_if(present.begin(), present.end(),
                        [&](std::string_view there) { return EqualsIgnoreCase(there, column); });
  };
  const auto has = [&](std::string_view column) { return find(column) != present.end(); };
  if (present.empty() || !std::all_of(required.begin(), required.end(), has)) return scan;
  std::string sql = "SELECT ";
  for (const std::string_view column : columns) {
    if (sql.size() > 7) sql += ", ";
    // Columns are words of this program; of a table the file adds a number at most.
    sql += has(column) ? fmt::format("\"{}\"", column) : "NULL";
  }
  sql += fmt::format(" FROM \"{}\"", table);
  std::vector<std::string> names;
  for (const std::string_view column : columns) {
    names.emplace_back(has(column) ? *find(column) : std::string(column));
  }
  XLATRACE_ASSIGN(scan.rows_, store::FullScan::Open(
                                  db.path(), table, names, sql,
                                  [&](std::string_view text) { return db.Prepare(text); },
                                  store::TableReader::AtDamage::kSkip));
  scan.found_ = true;
  return scan;
}

bool TableScan::Next(Counters& counters) {
  if (!found_) return false;
  const Result<bool> row = rows_.Next();
  if (row) return *row;
  counters.Add("table_damaged: " + table_, model::Severity::kDataLoss, rows_.damaged_parts(),
               fmt::format("these pages or rows could not be read: {}; copy the file again from "
                           "its source",
                           row.error().message));
  found_ = false;
  return false;
}

bool ReadInterval(const TableScan& scan, int64_t shift_ns, Counters& counters, int64_t& start_ns,
                  int64_t& end_ns) {
  if (!IsTime(scan, 0) || !IsTime(scan, 1)) {
    counters.Add("event_time_not_a_number", model::Severity::kDataLoss, 1,
                 "rows whose start or end is text or not a whole number were left out");
    return false;
  }
  start_ns = scan.IntOr(0, 0);
  end_ns = scan.IntOr(1, 0);
  if (end_ns < start_ns || start_ns < -kLatestNs || end_ns > kLatestNs) {
    counters.Add("event_time_invalid", model::Severity::kDataLoss, 1,
                 "rows that end before they start were left out");
    return false;
  }
  start_ns += shift_ns;
  end_ns += shift_ns;
  return true;
}

Status InternedStrings::Read(store::Database& db, Counters& counters) {
  XLATRACE_ASSIGN(TableScan scan,
                  TableScan::Open(db, "StringIds", {"id", "value"}, {"id", "value"}));
  uint64_t rows = 0;
  while (scan.Next(counters)) {
    ++rows;
    const int64_t id = scan.IntOr(0, -1);
    // By rows, not by what is there: ids that double would take any amount of memory.
    if (id < 0 || static_cast<uint64_t>(id) > 4 * rows + 1024) {
      others_.insert_or_assign(id, std::string(scan.Text(1)));
      continue;
    }
    const auto index = static_cast<size_t>(id);
    if (index >= dense_.size()) dense_.resize(index + 1);
    dense_[index] = scan.Text(1);
  }
  return {};
}

std::string_view InternedStrings::Get(int64_t id) const {
  if (id >= 0 && static_cast<uint64_t>(id) < dense_.size()) {
    const std::string& text = dense_[static_cast<size_t>(id)];
    if (!text.empty() || others_.empty()) return text;
  }
  const auto it = others_.find(id);
  return it == others_.end() ? std::string_view() : std::string_view(it->second);
}

}  // namespace xlatrace::importers
