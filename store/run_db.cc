// SPDX-License-Identifier: Apache-2.0
#include "store/run_db.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/shell_word.h"
#include "store/derived_writer.h"
#include "store/run_db_mark.h"
#include "store/schema.h"

namespace xlatrace::store {
namespace {

// Names and text of all schema entries that determine the rows of a query, in one string. Indices
// that a user added, and ANALYZE's tables, only affect speed.
Result<std::string> SchemaText(Database& database) {
  XLATRACE_ASSIGN(Statement row,
                  database.Prepare("SELECT type, name, coalesce(sql, '') FROM sqlite_master "
                                   "WHERE type <> 'index' AND name NOT LIKE 'sqlite_stat_' "
                                   "ORDER BY type, name"));
  std::string text;
  while (true) {
    XLATRACE_ASSIGN(const bool more, row.Step());
    if (!more) return text;
    for (int i = 0; i < 3; ++i) text.append(row.Text(i)) += '\0';
  }
}

Result<std::string> OurSchemaText() {
  XLATRACE_ASSIGN(Database database, Database::Create(":memory:"));
  XLATRACE_TRY(database.Execute(TablesSql()));
  XLATRACE_TRY(database.Execute(ViewsSql()));
  return SchemaText(database);
}

Cell CellOf(const Statement& row, int column) {
  switch (row.ColumnType(column)) {
    case Statement::Type::kNull:
      return std::monostate();
    case Statement::Type::kInteger:
      return row.Int64(column);
    case Statement::Type::kReal:
      return row.Real(column);
    default:
      return std::string(row.Text(column));
  }
}

// SQLite opens a file that was cut off inside its last page, because it counts partial pages.
Status CheckSize(const std::string& path) {
  constexpr size_t kPageSizeOffset = 16;   // File format, section 1.3: two bytes.
  constexpr size_t kPageCountOffset = 28;  // Four bytes.
  XLATRACE_ASSIGN(const std::string head, ReadFileHead(path, kPageCountOffset + 4));
  const auto byte = [&](size_t at) -> uint64_t { return static_cast<unsigned char>(head[at]); };
  if (head.size() < kPageCountOffset + 4) return {};  // Opening reports the error.
  const uint64_t page_size = byte(kPageSizeOffset) << 8 | byte(kPageSizeOffset + 1);
  uint64_t pages = 0;
  for (size_t i = 0; i < 4; ++i) pages = pages << 8 | byte(kPageCountOffset + i);
  const uint64_t expected = pages * (page_size == 1 ? 65536 : page_size);
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(path, error);
  if (error || size >= expected) return {};
  return MakeError(fmt::format("'{}' is cut off: it has {} of {} bytes", path, size, expected),
                   "copy it again from its source, or make it again from its recording or trace");
}

}  // namespace

size_t Table::Column(std::string_view name) const {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i] == name) return i;
  }
  std::abort();  // A column that our own SQL did not select.
}

bool Table::IsNull(size_t row, std::string_view column) const {
  return std::holds_alternative<std::monostate>(rows[row][Column(column)]);
}

int64_t Table::Int(size_t row, std::string_view column, int64_t if_null) const {
  const Cell& cell = rows[row][Column(column)];
  if (const auto* value = std::get_if<int64_t>(&cell)) return *value;
  if (const auto* value = std::get_if<double>(&cell)) return static_cast<int64_t>(*value);
  return if_null;
}

double Table::Real(size_t row, std::string_view column, double if_null) const {
  const Cell& cell = rows[row][Column(column)];
  if (const auto* value = std::get_if<int64_t>(&cell)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<double>(&cell)) return *value;
  return if_null;
}

std::string Table::Text(size_t row, std::string_view column) const {
  const Cell& cell = rows[row][Column(column)];
  if (const auto* value = std::get_if<std::string>(&cell)) return *value;
  if (const auto* value = std::get_if<int64_t>(&cell)) return std::to_string(*value);
  if (const auto* value = std::get_if<double>(&cell)) return fmt::format("{}", *value);
  return {};
}

Result<RunDb> RunDb::Open(const std::string& path) {
  if (IsDirectory(path)) {
    return MakeError(fmt::format("'{}' is a directory, not a run.db", path),
                     fmt::format("name the file inside it: ls {}/*.db", ShellWord(path)));
  }
  if (LooksLikeRunDb(path)) XLATRACE_TRY(CheckSize(path));
  XLATRACE_ASSIGN(Database database, Database::OpenForeign(path));
  XLATRACE_TRY(database.KeepReadLock());
  XLATRACE_ASSIGN(const auto application, database.QueryInt64("PRAGMA application_id"));
  if (application.value_or(0) != kApplicationId) {
    return MakeError(fmt::format("'{}' is a database, but not a run.db of xlatrace", path),
                     fmt::format("an Nsight Systems export is imported with: xlatrace import {} "
                                 "-o run.db",
                                 ShellWord(path)));
  }
  XLATRACE_ASSIGN(const auto version, database.QueryInt64("PRAGMA user_version"));
  if (const int64_t theirs = version.value_or(0); theirs != kSchemaVersion) {
    const bool newer = theirs > kSchemaVersion;
    return MakeError(
        fmt::format("'{}' was made by {} version of xlatrace (schema {}, this one reads {})", path,
                    newer ? "a newer" : "an older", theirs, kSchemaVersion),
        fmt::format("{}make it again from the trace or recording it came from: xlatrace import "
                    "TRACE -o new.db",
                    newer ? "update xlatrace, or " : ""));
  }
  XLATRACE_ASSIGN(const std::string theirs, SchemaText(database));
  XLATRACE_ASSIGN(const std::string ours, OurSchemaText());
  if (theirs != ours) {
    return MakeError(fmt::format("the schema of '{}' is not the one xlatrace writes; it was "
                                 "changed or damaged",
                                 path),
                     "make the run.db again from its recording or trace");
  }
  return RunDb(std::move(database));
}

Result<Table> RunDb::Select(std::string_view sql, std::initializer_list<Cell> parameters,
                            size_t max_rows) {
  XLATRACE_ASSIGN(Statement row, database_.Prepare(sql));
  if (row.ParameterCount() != static_cast<int>(parameters.size())) {
    return MakeError(
        fmt::format("SQL: {} parameters, {} values", row.ParameterCount(), parameters.size()),
        "write the value into the statement");
  }
  int index = 0;
  for (const Cell& parameter : parameters) {
    if (const auto* value = std::get_if<int64_t>(&parameter)) row.BindInt64(index, *value);
    if (const auto* value = std::get_if<double>(&parameter)) row.BindReal(index, *value);
    if (const auto* value = std::get_if<std::string>(&parameter)) row.BindText(index, *value);
    ++index;
  }
  Table table;
  for (int i = 0; i < row.ColumnCount(); ++i) table.columns.emplace_back(row.ColumnName(i));
  while (table.rows.size() < max_rows) {
    XLATRACE_ASSIGN(const bool more, row.Step());
    if (!more) break;
    auto& cells = table.rows.emplace_back();
    cells.reserve(table.columns.size());
    for (int i = 0; i < row.ColumnCount(); ++i) cells.push_back(CellOf(row, i));
  }
  return table;
}

Status RunDb::ForEach(std::string_view sql, const std::function<bool(const Statement&)>& callback) {
  XLATRACE_ASSIGN(Statement row, database_.Prepare(sql));
  while (true) {
    XLATRACE_ASSIGN(const bool more, row.Step());
    if (!more || !callback(row)) return {};
  }
}

void RunDb::SetTimeLimit(int64_t milliseconds) { database_.SetTimeLimit(milliseconds); }

Result<std::optional<std::string>> RunDb::Info(std::string_view key) {
  XLATRACE_ASSIGN(const Table table,
                  Select("SELECT value FROM run_info WHERE key = ?1", {std::string(key)}));
  if (table.rows.empty() || table.IsNull(0, "value")) return std::optional<std::string>();
  return std::optional<std::string>(table.Text(0, "value"));
}

Result<RunDb::ModuleBytes> RunDb::ReadModule(model::Id module_id) {
  return ReadModuleRow(database_, module_id);
}

}  // namespace xlatrace::store
