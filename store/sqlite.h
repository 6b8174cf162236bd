// SPDX-License-Identifier: Apache-2.0

// A thin, typed layer over SQLite: the only user of sqlite3.h in the project.
//
// There are three ways to open a database. Create and OpenOurs are for our own databases.
// OpenForeign is for run.db files from elsewhere: read-only, defensive, untrusted schema, no
// ATTACH, no extensions. OpenTrace is for nsys exports: in addition, only tables are read, and no
// expression of the file runs. A file that is being written, or that was left inside a transaction,
// is rejected. Readers therefore see one committed state.
//
// Errors are Status values that name the file and contain SQLite's message. Ownership: a Statement
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

  // Binding never fails for values of reasonable size; Step returns errors.
  void BindNull(int index);
  void BindInt64(int index, int64_t value);
  void BindReal(int index, double value);
  void BindOptional(int index, const std::optional<int64_t>& value);
  void BindText(int index, std::string_view text);        // Copied.
  void BindTextOrNull(int index, std::string_view text);  // Empty becomes NULL.
  void BindBlob(int index, std::string_view bytes);       // Copied.

  // Advances to the next row: false if there is none.
  Result<bool> Step();
  // Runs a statement without result rows (INSERT), then resets it.
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
  // A new database at `path` (which must not exist), tuned for one bulk load: no journal, no sync.
  // The caller renames the complete file into place.
  static Result<Database> Create(const std::string& path);
  // Opens a database that Create made and closed, before it is renamed into place.
  static Result<Database> OpenUnfinished(const std::string& path);
  // Our own file, for writing derived tables in a transaction.
  static Result<Database> OpenOurs(const std::string& path);
  static Result<Database> OpenForeign(const std::string& path);
  // Ignores views, virtual tables and generated columns (IsView detects them). Allows only the few
  // SQL functions that importers use. Keeps its read lock (KeepReadLock).
  static Result<Database> OpenTrace(const std::string& path);

  // Limit in bytes on the memory of all databases of this process together; 0: no limit. A
  // statement that needs more fails with SQLite's "out of memory".
  static void SetMemoryLimit(int64_t bytes);

  // Keeps the read lock of the first SELECT from now on. Locking for each statement costs more than
  // a look-up by key. The file cannot be changed meanwhile.
  Status KeepReadLock();

  Database(Database&& other) noexcept;
  Database& operator=(Database&&) = delete;
  ~Database();

  Status Execute(const std::string& sql);
  Result<Statement> Prepare(std::string_view sql);
  // First column of the first row; nullopt if there is no row or it is NULL.
  Result<std::optional<int64_t>> QueryInt64(std::string_view sql);

  // Names of the stored columns of a table; empty if there is no such table.
  Result<std::vector<std::string>> ColumnNames(const std::string& table);
  // True if the name is a view or a table that is not stored in the file.
  Result<bool> IsView(const std::string& name);

  // Stops a running statement after this wall time; 0: no limit.
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
