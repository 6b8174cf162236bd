// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/shell_word.h"
#include "store/table_builder.h"

namespace xlatrace::store {
namespace {

using Clock = std::chrono::steady_clock;

// Limits on values in foreign files, so that they cannot request huge amounts of memory. The
// largest values are modules in a run.db, and texts of ranges in an export.
constexpr int kMaxForeignValueBytes = 1 << 30;
constexpr int kMaxTraceValueBytes = 64 << 20;
constexpr size_t kDatabaseHeaderBytes = 100;
// The run time of LIKE and GLOB grows exponentially with the wildcards of their pattern.
constexpr int kMaxPatternBytes = 512;
// An Nsight export has about sixty tables. Every connection reads the names of all tables.
constexpr int64_t kMaxDatabaseTables = 5000;

// Percent-encodes the special characters of SQLite's file: URIs.
std::string FileUri(const std::string& path, std::string_view parameters) {
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '?' || c == '#' || c == '%') {
      uri += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    } else {
      uri += c;
    }
  }
  return uri.append(parameters);
}

// Functions that access more than their arguments: files, or, through a number in a blob, any
// address of the process.
bool ReachesBeyondItsValues(std::string_view function) {
  return function == "load_extension" || function == "fts3_tokenizer" || function == "readfile" ||
         function == "writefile" || function == "edit";
}

// Allows reads only: no ATTACH, no PRAGMA that changes state, no functions with side effects.
int AllowReadsOnly(void* /*unused*/, int action, const char* first, const char* second,
                   const char* /*database*/, const char* /*trigger*/) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_FUNCTION:
      return second != nullptr && ReachesBeyondItsValues(second) ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_PRAGMA: {
      const std::string_view name = first;
      const bool harmless = name == "table_info" || name == "table_xinfo" ||
                            name == "user_version" || name == "application_id" ||
                            name == "table_list";
      return harmless && (second == nullptr || name.substr(0, 5) == "table") ? SQLITE_OK
                                                                             : SQLITE_DENY;
    }
    default:
      return SQLITE_DENY;
  }
}

// In addition: no access through a view, and only functions that importers use.
int AllowTablesOnly(void* unused, int action, const char* first, const char* second,
                    const char* database, const char* through) {
  constexpr std::string_view kFunctions[] = {"count", "coalesce", "min", "max"};
  if (action == SQLITE_RECURSIVE) return SQLITE_DENY;
  if (action == SQLITE_READ && through != nullptr) return SQLITE_DENY;
  if (action == SQLITE_FUNCTION) {
    const std::string_view name = second == nullptr ? "" : second;
    const bool known =
        std::find(std::begin(kFunctions), std::end(kFunctions), name) != std::end(kFunctions);
    return known ? SQLITE_OK : SQLITE_DENY;
  }
  return AllowReadsOnly(unused, action, first, second, database, through);
}

// Files that a writer left beside a database, or uses now, determine whether it can be read.
Status CheckCompanions(const std::string& path) {
  for (const char* suffix : {"-journal", "-wal"}) {
    const std::string companion = path + suffix;
    struct stat info = {};
    if (stat(companion.c_str(), &info) != 0) continue;
    if (!S_ISREG(info.st_mode)) {
      return MakeError(
          fmt::format("'{}' is beside the database and is not a regular file", companion),
          "SQLite would read it as that database's journal; move it away");
    }
    if (info.st_size > 0 && std::string_view(suffix) == "-wal") {
      return MakeError(
          fmt::format("'{}' has changes that are not in it yet ('{}')", path, companion),
          fmt::format("close the program that writes it, or: sqlite3 {} 'PRAGMA wal_checkpoint'",
                      ShellWord(path)));
    }
  }
  return {};
}

// True if the file system has no locks at all (NFS without its lock server). SQLite reports this as
// a lock of another process. Requests the lock that SQLite's readers hold (its SHARED_FIRST).
bool HasNoLocks(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  struct flock lock = {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = 0x40000000 + 2;
  lock.l_len = 1;
  const bool none =
      fcntl(fd, F_SETLK, &lock) != 0 && (errno == ENOLCK || errno == ENOSYS || errno == EOPNOTSUPP);
  // Otherwise the file stays open: closing it would release all locks of this process on it.
  if (none) close(fd);
  return none;
}

std::string Sentence(sqlite3* handle, const std::string& path, std::string_view doing) {
  return fmt::format("{} '{}': {}", doing, path, sqlite3_errmsg(handle));
}

// Byte 18 of the header: the file format's version for writing (file format, section 1.3.3).
bool HasWriteAheadLog(std::string_view head) { return head.size() > 18 && head[18] == 2; }

std::string HintFor(int code) {
  switch (code & 0xFF) {  // The upper bits of an extended code only give the place of the error.
    case SQLITE_FULL:
      return "free some space or name another place with -o FILE";
    case SQLITE_NOMEM:
      return "close other programs, or use a machine with more memory";
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return "make the file and its folder writable, or name another place with -o FILE";
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return "the file is damaged or cut off; copy it again from its source";
    default:
      return {};
  }
}

// Whether a file with missing pages at its end is rejected.
enum class Pages : uint8_t { kAll, kSome };

// For foreign files. SQLite opens a file with missing pages only if the schema is writable, which a
// read connection cannot use.
void SetLimits(sqlite3* handle, Pages pages) {
  const bool all = pages == Pages::kAll;
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, all ? 1 : 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_WRITABLE_SCHEMA, all ? 0 : 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kMaxForeignValueBytes);
  sqlite3_limit(handle, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, kMaxPatternBytes);
  sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
}

}  // namespace

struct Database::Deadline {
  Clock::time_point at = Clock::time_point::max();
  static int Passed(void* self) { return Clock::now() > static_cast<Deadline*>(self)->at ? 1 : 0; }
};

// ---- Statement -------------------------------------------------------------------------------

Statement::Statement(Statement&& other) noexcept
    : statement_(std::exchange(other.statement_, nullptr)) {}

Statement& Statement::operator=(Statement&& other) noexcept {
  std::swap(statement_, other.statement_);
  return *this;
}

Statement::~Statement() { sqlite3_finalize(statement_); }

void Statement::BindNull(int index) { sqlite3_bind_null(statement_, index + 1); }

void Statement::BindInt64(int index, int64_t value) {
  sqlite3_bind_int64(statement_, index + 1, value);
}

void Statement::BindReal(int index, double value) {
  sqlite3_bind_double(statement_, index + 1, value);
}

void Statement::BindOptional(int index, const std::optional<int64_t>& value) {
  if (value) {
    BindInt64(index, *value);
  } else {
    BindNull(index);
  }
}

void Statement::BindText(int index, std::string_view text) {
  // A null pointer would bind NULL, but an empty text is not NULL.
  sqlite3_bind_text64(statement_, index + 1, text.empty() ? "" : text.data(), text.size(),
                      SQLITE_TRANSIENT, SQLITE_UTF8);
}

void Statement::BindTextOrNull(int index, std::string_view text) {
  if (text.empty()) {
    BindNull(index);
  } else {
    BindText(index, text);
  }
}

void Statement::BindBlob(int index, std::string_view bytes) {
  sqlite3_bind_blob64(statement_, index + 1, bytes.empty() ? "" : bytes.data(), bytes.size(),
                      SQLITE_TRANSIENT);
}

Result<bool> Statement::Step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  sqlite3* handle = sqlite3_db_handle(statement_);
  const char* path = sqlite3_db_filename(handle, "main");
  if (code == SQLITE_INTERRUPT) {
    return MakeError("the query took longer than its time limit",
                     "narrow it with WHERE or LIMIT, or give it more time");
  }
  return MakeError(Sentence(handle, path == nullptr ? "" : path, "database"), HintFor(code));
}

Status Statement::Run() {
  auto row = Step();
  Reset();
  if (!row) return tl::unexpected<Error>(std::move(row).error());
  return {};
}

void Statement::Reset() { sqlite3_reset(statement_); }

int Statement::ParameterCount() const { return sqlite3_bind_parameter_count(statement_); }

int Statement::ColumnCount() const { return sqlite3_column_count(statement_); }

std::string_view Statement::ColumnName(int column) const {
  return sqlite3_column_name(statement_, column);
}

Statement::Type Statement::ColumnType(int column) const {
  switch (sqlite3_column_type(statement_, column)) {
    case SQLITE_INTEGER:
      return Type::kInteger;
    case SQLITE_FLOAT:
      return Type::kReal;
    case SQLITE_TEXT:
      return Type::kText;
    case SQLITE_BLOB:
      return Type::kBlob;
    default:
      return Type::kNull;
  }
}

int64_t Statement::Int64(int column) const { return sqlite3_column_int64(statement_, column); }
double Statement::Real(int column) const { return sqlite3_column_double(statement_, column); }

std::string_view Statement::Text(int column) const {
  const void* bytes = sqlite3_column_blob(statement_, column);
  if (bytes == nullptr) return {};
  return {static_cast<const char*>(bytes),
          static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

std::optional<int64_t> Statement::OptionalInt64(int column) const {
  // One access to the column instead of two: importers make tens of millions.
  sqlite3_value* const value = sqlite3_column_value(statement_, column);
  if (sqlite3_value_type(value) == SQLITE_NULL) return std::nullopt;
  return sqlite3_value_int64(value);
}

// ---- Database --------------------------------------------------------------------------------

Database::Database(sqlite3* handle, std::string path)
    : handle_(handle), path_(std::move(path)), deadline_(std::make_unique<Deadline>()) {}

Database::Database(Database&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)),
      path_(std::move(other.path_)),
      deadline_(std::move(other.deadline_)),
      is_trace_(other.is_trace_) {}

Database::~Database() {
  if (handle_ != nullptr) sqlite3_close_v2(handle_);
}

Error Database::LastError(std::string_view doing) const {
  return Error{Sentence(handle_, path_, doing), HintFor(sqlite3_errcode(handle_)),
               ErrorCode::kFailed};
}

Result<Database> Database::Open(const std::string& path, const std::string& uri, int flags) {
  sqlite3* handle = nullptr;
  // A new file is private until it is complete and renamed. It needs no locks, which a file system
  // (NFS without its lock server) may refuse.
  const char* vfs = (flags & SQLITE_OPEN_CREATE) != 0 ? "unix-none" : nullptr;
  // One thread per Database (see the header), so SQLite needs no mutex per column read.
  const int code =
      sqlite3_open_v2(uri.c_str(), &handle, flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, vfs);
  Database database(handle, path);
  if (code != SQLITE_OK) return tl::unexpected<Error>(database.LastError("opening"));
  return database;
}

Result<Database> Database::Create(const std::string& path) {
  XLATRACE_ASSIGN(Database database,
                  Open(path, FileUri(path, ""), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
  XLATRACE_TRY(database.Execute(fmt::format(
      "PRAGMA page_size={}; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
      "PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_size=-16384; PRAGMA temp_store=MEMORY;",
      kPageBytes)));
  return database;
}

Result<Database> Database::OpenUnfinished(const std::string& path) { return Create(path); }

Result<Database> Database::OpenOurs(const std::string& path) {
  XLATRACE_ASSIGN(Database database, Open(path, FileUri(path, ""), SQLITE_OPEN_READWRITE));
  XLATRACE_TRY(database.Execute("PRAGMA cache_size=-65536; PRAGMA trusted_schema=OFF;"));
  return database;
}

Result<Database> Database::OpenForReading(const std::string& path) {
  // ReadFileHead refuses other than regular files before SQLite could block on them.
  XLATRACE_ASSIGN(const std::string head, ReadFileHead(path, kDatabaseHeaderBytes));
  if (head.empty()) {
    return MakeError(fmt::format("'{}' is empty", path),
                     "a recording that was cut off before it began; record again");
  }
  if (head.substr(0, 15) != "SQLite format 3") {
    return MakeError(
        fmt::format("'{}' is not a database", path),
        fmt::format("to import a trace: xlatrace import {} -o run.db", ShellWord(path)));
  }
  XLATRACE_TRY(CheckCompanions(path));
  // In WAL mode, even a reader creates two files beside a database. With `immutable=1`, SQLite
  // creates no files. This is safe because the log is empty (CheckCompanions).
  if (HasWriteAheadLog(head)) {
    return Open(path, FileUri(path, "?mode=ro&immutable=1"), SQLITE_OPEN_READONLY);
  }
  auto opened = Open(path, FileUri(path, "?mode=ro"), SQLITE_OPEN_READONLY);
  if (!opened) return opened;
  if (opened->QueryInt64("SELECT count(*) FROM sqlite_master")) return opened;
  const int code = sqlite3_errcode(opened->handle_);
  const bool busy = code == SQLITE_BUSY || code == SQLITE_LOCKED;
  if (busy && !HasNoLocks(path)) {
    return MakeError(fmt::format("'{}' is being written by another program", path),
                     "wait until it is done, then try again");
  }
  struct stat journal = {};
  if (stat((path + "-journal").c_str(), &journal) == 0 && journal.st_size > 0) {
    return MakeError(
        fmt::format("'{}' was left in the middle of a change ('{}-journal' leads back)", path,
                    path),
        fmt::format("keep both files together where they can be written, and: sqlite3 {} "
                    "'SELECT count(*) FROM sqlite_master'",
                    ShellWord(path)));
  }
  // Without locks, a database opens only as immutable.
  return Open(path, FileUri(path, "?mode=ro&immutable=1"), SQLITE_OPEN_READONLY);
}

void Database::Restrict() {
  sqlite3_set_authorizer(handle_, is_trace_ ? AllowTablesOnly : AllowReadsOnly, nullptr);
}

Result<Database> Database::OpenForeign(const std::string& path) {
  XLATRACE_ASSIGN(Database database, OpenForReading(path));
  SetLimits(database.handle_, Pages::kAll);
  XLATRACE_TRY(database.Execute("PRAGMA cache_size=-16384; PRAGMA temp_store=MEMORY;"));
  // These functions declare their columns at the first use, which is not allowed later.
  for (const char* function : {"json_each", "json_tree"}) {
    static_cast<void>(database.QueryInt64(fmt::format("SELECT 1 FROM {}('[]')", function)));
  }
  database.Restrict();
  XLATRACE_TRY(database.QueryInt64("SELECT count(*) FROM sqlite_master"));
  return database;
}

Result<Database> Database::OpenTrace(const std::string& path) {
  const auto open = [&](Pages pages) -> Result<Database> {
    XLATRACE_ASSIGN(Database database, OpenForReading(path));
    SetLimits(database.handle_, pages);
    sqlite3_limit(database.handle_, SQLITE_LIMIT_LENGTH, kMaxTraceValueBytes);
    XLATRACE_TRY(database.Execute("PRAGMA cache_size=-16384; PRAGMA temp_store=MEMORY;"));
    database.is_trace_ = true;
    XLATRACE_TRY(database.KeepReadLock());
    XLATRACE_ASSIGN(const auto tables, database.QueryInt64("SELECT count(*) FROM sqlite_master"));
    if (tables.value_or(0) > kMaxDatabaseTables) {
      return MakeError(
          fmt::format("'{}' has {} tables and indices; an export of Nsight Systems has "
                      "fewer than a hundred",
                      path, *tables),
          "export it again: nsys export --type sqlite REPORT.nsys-rep");
    }
    return database;
  };
  Result<Database> whole = open(Pages::kAll);
  if (whole) return whole;
  // A truncated trace keeps its complete tables. Their readers report missing pages.
  Result<Database> part = open(Pages::kSome);
  return part ? std::move(part) : std::move(whole);
}

void Database::SetMemoryLimit(int64_t bytes) { sqlite3_hard_heap_limit64(bytes); }

Status Database::KeepReadLock() {
  sqlite3_set_authorizer(handle_, nullptr, nullptr);
  // https://www.sqlite.org/pragma.html#pragma_locking_mode: a connection that only reads holds a
  // shared lock.
  const Status set = Execute("PRAGMA locking_mode=EXCLUSIVE");
  Restrict();
  return set;
}

Status Database::Execute(const std::string& sql) {
  if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return tl::unexpected<Error>(LastError("database"));
  }
  return {};
}

Result<Statement> Database::Prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const char* tail = nullptr;
  if (sqlite3_prepare_v2(handle_, sql.data(), static_cast<int>(sql.size()), &statement, &tail) !=
      SQLITE_OK) {
    return tl::unexpected<Error>(Error{fmt::format("SQL: {}", sqlite3_errmsg(handle_)),
                                       HintFor(sqlite3_errcode(handle_)), ErrorCode::kFailed});
  }
  if (statement == nullptr) return MakeError("SQL: there is no statement");
  const std::string_view rest(tail, static_cast<size_t>(sql.data() + sql.size() - tail));
  if (rest.find_first_not_of(" \t\r\n;") != std::string_view::npos) {
    sqlite3_finalize(statement);
    return MakeError("SQL: one statement at a time");
  }
  return Statement(statement);
}

Result<std::optional<int64_t>> Database::QueryInt64(std::string_view sql) {
  XLATRACE_ASSIGN(Statement statement, Prepare(sql));
  XLATRACE_ASSIGN(const bool row, statement.Step());
  if (!row) return std::optional<int64_t>();
  return statement.OptionalInt64(0);
}

Result<std::vector<std::string>> Database::ColumnNames(const std::string& table) {
  std::vector<std::string> names;
  // A virtual table has no page of its own; generated columns are hidden ones of kind 2 and 3.
  XLATRACE_ASSIGN(
      Statement known,
      Prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND name = ?1"));
  known.BindText(0, table);
  XLATRACE_ASSIGN(const bool exists, known.Step());
  if (!exists) return names;
  std::string quoted = table;
  for (size_t at = quoted.find('"'); at != std::string::npos; at = quoted.find('"', at + 2)) {
    quoted.insert(at, 1, '"');
  }
  XLATRACE_ASSIGN(Statement columns, Prepare(fmt::format("PRAGMA table_xinfo(\"{}\")", quoted)));
  constexpr int kNameColumn = 1;
  constexpr int kHiddenColumnIndex = 6;
  while (true) {
    XLATRACE_ASSIGN(const bool more, columns.Step());
    if (!more) return names;
    if (columns.Int64(kHiddenColumnIndex) == 0) names.emplace_back(columns.Text(kNameColumn));
  }
}

Result<bool> Database::IsView(const std::string& name) {
  XLATRACE_ASSIGN(Statement known,
                  Prepare("SELECT 1 FROM sqlite_master WHERE name = ?1 AND (type = 'view' OR (type "
                          "= 'table' AND coalesce(rootpage, 0) = 0))"));
  known.BindText(0, name);
  return known.Step();
}

void Database::SetTimeLimit(int64_t milliseconds) {
  deadline_->at = milliseconds > 0 ? Clock::now() + std::chrono::milliseconds(milliseconds)
                                   : Clock::time_point::max();
  sqlite3_progress_handler(handle_, milliseconds > 0 ? 10000 : 0, Deadline::Passed,
                           deadline_.get());
}

}  // namespace xlatrace::store
