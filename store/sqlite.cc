#include "store/sqlite.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <sqlite3.h>

#include "base/file.h"
#include "store/table_builder.h"

namespace xlatrace::store {
namespace {

using Clock = std::chrono::steady_clock;

// Strangers' files are kept from asking for huge values.
constexpr int kMaxForeignValueBytes = 1 << 30;

// Percent-encodes what has a meaning in SQLite's file: URIs.
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

// Only reading: no ATTACH, no PRAGMA that changes anything, no functions with side effects.
int AllowReadsOnly(void* /*unused*/, int action, const char* first, const char* second,
                   const char* /*database*/, const char* /*trigger*/) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_FUNCTION:
      return second != nullptr && std::string_view(second) == "load_extension" ? SQLITE_DENY
                                                                               : SQLITE_OK;
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

std::string Sentence(sqlite3* handle, const std::string& path, std::string_view doing) {
  return fmt::format("{} '{}': {}", doing, path, sqlite3_errmsg(handle));
}

std::string HintFor(int code) {
  switch (code & 0xFF) {  // The rest of an extended code says where it happened.
    case SQLITE_FULL:
      return "free some space or name another place with -o FILE";
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return "the file is damaged or cut off; copy it again from its source";
    default:
      return {};
  }
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
  // A null pointer would bind NULL, and an empty text is not NULL.
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
  // One look at the column instead of two: importers ask for tens of millions.
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
      deadline_(std::move(other.deadline_)) {}

Database::~Database() {
  if (handle_ != nullptr) sqlite3_close_v2(handle_);
}

Error Database::LastError(std::string_view doing) const {
  return Error{Sentence(handle_, path_, doing), HintFor(sqlite3_errcode(handle_)),
               ErrorCode::kFailed};
}

Result<Database> Database::Open(const std::string& path, const std::string& uri, int flags) {
  sqlite3* handle = nullptr;
  // Nobody else knows a file that we make until it is whole and renamed: no locks, which a file
  // system (NFS without its lock server) may refuse.
  const char* vfs = (flags & SQLITE_OPEN_CREATE) != 0 ? "unix-none" : nullptr;
  // One thread per Database (the header's promise), so no lock per column read.
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

Result<Database> Database::OpenOurs(const std::string& path) {
  XLATRACE_ASSIGN(Database database, Open(path, FileUri(path, ""), SQLITE_OPEN_READWRITE));
  XLATRACE_TRY(database.Execute("PRAGMA cache_size=-65536; PRAGMA trusted_schema=OFF;"));
  return database;
}

Result<Database> Database::OpenForeign(const std::string& path) {
  // ReadFileHead refuses what is not a regular file before SQLite would wait on it.
  XLATRACE_ASSIGN(const std::string head, ReadFileHead(path, 16));
  if (head.empty()) {
    return MakeError(fmt::format("'{}' is empty", path),
                     "a recording that was cut off before it began; record again");
  }
  if (head.substr(0, 15) != "SQLite format 3") {
    return MakeError(fmt::format("'{}' is not a database", path),
                     fmt::format("to import a trace: xlatrace import {} -o run.db", path));
  }
  auto opened = Open(path, FileUri(path, "?mode=ro"), SQLITE_OPEN_READONLY);
  // A database in WAL mode in a folder that cannot be written opens only as immutable.
  const bool readable = opened && opened->QueryInt64("SELECT count(*) FROM sqlite_master");
  XLATRACE_ASSIGN(Database database, readable ? std::move(opened)
                                              : Open(path, FileUri(path, "?mode=ro&immutable=1"),
                                                     SQLITE_OPEN_READONLY));
  sqlite3* handle = database.handle_;
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kMaxForeignValueBytes);
  sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
  XLATRACE_TRY(database.Execute("PRAGMA cache_size=-16384; PRAGMA temp_store=MEMORY;"));
  sqlite3_set_authorizer(handle, AllowReadsOnly, nullptr);
  XLATRACE_TRY(database.QueryInt64("SELECT count(*) FROM sqlite_master"));
  return database;
}

Status Database::KeepReadLock() {
  sqlite3_set_authorizer(handle_, nullptr, nullptr);
  // https://www.sqlite.org/pragma.html#pragma_locking_mode: who only reads, holds a shared lock.
  const Status set = Execute("PRAGMA locking_mode=EXCLUSIVE");
  sqlite3_set_authorizer(handle_, AllowReadsOnly, nullptr);
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
  // No pragma: strangers' files are opened with an authorizer that refuses them.
  XLATRACE_ASSIGN(
      Statement known,
      Prepare("SELECT 1 FROM sqlite_master WHERE type IN ('table','view') AND name = ?1"));
  known.BindText(0, table);
  XLATRACE_ASSIGN(const bool exists, known.Step());
  std::vector<std::string> names;
  if (!exists) return names;
  std::string quoted = table;
  for (size_t at = quoted.find('"'); at != std::string::npos; at = quoted.find('"', at + 2)) {
    quoted.insert(at, 1, '"');
  }
  XLATRACE_ASSIGN(const Statement row, Prepare(fmt::format("SELECT * FROM \"{}\"", quoted)));
  for (int column = 0; column < row.ColumnCount(); ++column) {
    names.emplace_back(row.ColumnName(column));
  }
  return names;
}

void Database::SetTimeLimit(int64_t milliseconds) {
  deadline_->at = milliseconds > 0 ? Clock::now() + std::chrono::milliseconds(milliseconds)
                                   : Clock::time_point::max();
  sqlite3_progress_handler(handle_, milliseconds > 0 ? 10000 : 0, Deadline::Passed,
                           deadline_.get());
}

}  // namespace xlatrace::store
