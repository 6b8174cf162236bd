// SPDX-License-Identifier: Apache-2.0

// A thin, typed layer over SQLite: the only door to sqlite3.h in the project.
//
// Three ways to open: our own databases (Create, OpenOurs); run.db files from elsewhere
// (OpenForeign: read-only, defensive, untrusted schema, no ATTACH, no extensions); and databases
// that other tools wrote, nsys exports (OpenTrace: besides, nothing but tables is read, and no
// expression of the file's own is ever run). A file that somebody is writing, or that was left in
// the middle of a change, is refused: what is read is one state of it, and a committed one.
//
// Errors are Status values that name the file and SQLite's own sentence. Ownership: a Statement
// must not outlive its Database. Thread-safety: one thread per Database.

#ifndef XLATRACE_STORE_SQLITE_H_
#define XLATRACE_STORE_SQLITE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace xlatrace::store {

// One prepared statement; columns and parameters count from 0.
class Statement {
 public:
  Statement() = default;
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) noexcept;
  ~Statement();

  // Binding never fails for values of sane size; errors surface in Step.
  void BindNull(int index);
  void BindInt64(int index, int64_t value);
  void BindReal(int index, double value);
  void BindOptional(int index, const std::optional<int64_t>& value);
  void BindText(int index, std::string_view text);        // Copied.
  void BindTextOrNull(int index, std::string_view text);  // Empty becomes NULL.
  void BindBlob(int index, std::string_view bytes);       // Copied.

  // Advances to the next row: true when there is one.
  Result<bool> Step();
  // Runs a statement that gives no rows (INSERT), then resets it.
  Status Run();
  void Reset();

  int ParameterCount() const;
  int ColumnCount() const;
  std::string_view ColumnName(int column) const;
  enum class Type { kNull, kInteger, kReal, kText, kBlob };
  Type ColumnType(int column) const;
  bool IsNull(int column) const { return ColumnType(column) == Type::kNull; }
  int64_t Int64(int column) const;
  double Real(int column) const;
  std::string_view Text(int column) const;  // Valid until the next Step. Text or blob bytes.
  std::optional<int64_t> OptionalInt64(int column) const;

 private:
  friend class Database;
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  sqlite3_stmt* statement_ = nullptr;
};

class Database {
 public:
  // A fresh database at `path` (which must not exist) tuned for one bulk load: no journal, no sync;
  // the caller renames it into place when complete.
  static Result<Database> Create(const std::string& path);
  // What Create made and closed, opened again in the same way before it is in its place.
  static Result<Database> OpenUnfinished(const std::string& path);
  // Our own file, for writing derived tables in a transaction.
  static Result<Database> OpenOurs(const std::string& path);
  static Result<Database> OpenForeign(const std::string& path);
  // Views, virtual tables and generated columns are as if they were not there (IsView tells); of
  // SQL functions only the few that importers use are allowed. Keeps its read lock (KeepReadLock).
  static Result<Database> OpenTrace(const std::string& path);

  // Bytes that all databases of this process may hold in memory together; 0: no limit. A statement
  // that would need more fails with SQLite's "out of memory".
  static void SetMemoryLimit(int64_t bytes);

  // Keeps the read lock of the first SELECT from now on, instead of taking it for every statement:
  // that costs more than a look-up by key. The file cannot be changed meanwhile.
  Status KeepReadLock();

  Database(Database&& other) noexcept;
  Database& operator=(Database&&) = delete;
  ~Database();

  Status Execute(const std::string& sql);
  Result<Statement> Prepare(std::string_view sql);
  // First column of the first row; nullopt when there is no row or it is NULL.
  Result<std::optional<int64_t>> QueryInt64(std::string_view sql);

  // Names of the stored columns of a table; empty when there is no such table.
  Result<std::vector<std::string>> ColumnNames(const std::string& table);
  // Whether there is a view, or a table that is not stored in the file, of this name.
  Result<bool> IsView(const std::string& name);

  // Stops a running statement after this much wall time; 0: no limit.
  void SetTimeLimit(int64_t milliseconds);

  const std::string& path() const { return path_; }

 private:
  Database(sqlite3* handle, std::string path);
  static Result<Database> Open(const std::string& path, const std::string& uri, int flags);
  static Result<Database> OpenForReading(const std::string& path);
  void Restrict();
  Error LastError(std::string_view doing) const;

  struct Deadline;
  sqlite3* handle_;
  std::string path_;
  std::unique_ptr<Deadline> deadline_;
  bool is_trace_ = false;
};

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_SQLITE_H_
