// SPDX-License-Identifier: Apache-2.0
#include <cctype>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/file.h"
#include "base/nearest_word.h"
#include "base/shell_word.h"
#include "store/run_db.h"
#include "store/run_db_mark.h"
#include "tools/choices.h"
#include "tools/commands.h"
#include "tools/console.h"
#include "tools/fold.h"
#include "tools/query_rows.h"

namespace xlatrace::tools {
namespace {

struct QueryOptions {
  std::string path;
  std::string sql;
  std::string format = "table";
  int64_t time_limit_s = 60;
  int64_t memory_limit_mb = 2048;
};

constexpr size_t kChunkBytes = size_t{64} << 10;

// SQLite checks its time limit between steps of a statement, and one call of a function on a long
// text is one step. Reading changes no data, so the program may end during a step.
class Watchdog {
 public:
  explicit Watchdog(int64_t limit_s) {
    if (limit_s <= 0) return;
    thread_ = std::thread([this, limit_s] {
      std::unique_lock lock(mutex_);
      if (done_.wait_for(lock, std::chrono::seconds(limit_s + kGraceSeconds),
                         [this] { return is_done_; })) {
        return;
      }
      PrintError(TimeLimitError(limit_s));
      std::_Exit(1);
    });
  }
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      is_done_ = true;
    }
    done_.notify_one();
    if (thread_.joinable()) thread_.join();
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  static Error TimeLimitError(int64_t limit_s) {
    return Error{"the query took longer than its time limit",
                 fmt::format("it was {} s; narrow it with WHERE or LIMIT, or give more: "
                             "--time-limit {}",
                             limit_s, limit_s * 10),
                 ErrorCode::kFailed};
  }

 private:
  static constexpr int64_t kGraceSeconds = 1;
  std::mutex mutex_;
  std::condition_variable done_;
  bool is_done_ = false;
  std::thread thread_;
};

store::Cell CellOf(const store::Statement& row, int column) {
  using Type = store::Statement::Type;
  switch (row.ColumnType(column)) {
    case Type::kNull:
      return std::monostate();
    case Type::kInteger:
      return row.Int64(column);
    case Type::kReal:
      return row.Real(column);
    default:
      return std::string(row.Text(column));
  }
}

// The first table that a query reads: the word after FROM in a simple query.
std::string FirstTable(std::string_view sql) {
  std::string lower(sql);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const size_t from = lower.find("from ");
  if (from == lower.npos || lower.starts_with("with")) return "launch";
  const size_t begin = lower.find_first_not_of(" \n\t", from + 5);
  if (begin == lower.npos) return "launch";
  const size_t end = lower.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789", begin);
  const std::string name = lower.substr(begin, end == lower.npos ? end : end - begin);
  return name.empty() || name == "select" ? "launch" : name;
}

std::vector<std::string> TableNames(store::RunDb& db) {
  std::vector<std::string> names;
  const Result<store::Table> table = db.Select("SELECT name FROM sqlite_master");
  for (size_t i = 0; table && i < table->rows.size(); ++i) names.push_back(table->Text(i, "name"));
  return names;
}

std::vector<std::string> ColumnNames(store::RunDb& db, const std::string& table) {
  const Result<store::Table> empty = db.Select(fmt::format("SELECT * FROM {} LIMIT 0", table));
  return empty ? empty->columns : std::vector<std::string>();
}

// "launch; " for "no such table: lanch".
std::string NearestName(const Error& error, const std::vector<std::string>& names) {
  const std::string nearest =
      NearestWord(error.message.substr(error.message.rfind(' ') + 1), names);
  return nearest.empty() ? nearest : nearest + "; ";
}

// The hint for a statement that SQLite refuses; empty: none fits.
std::string RefusalHint(std::string_view message, const std::string& run) {
  const auto has = [&](std::string_view words) { return message.find(words) != message.npos; };
  if (has("use function") || has("no such function")) {
    return "queries have SQLite's own functions on values, such as count, sum, max, substr, round";
  }
  if (has("not authorized") || has("authorization denied") || has("cannot modify")) {
    return fmt::format(
        "only SELECT is possible, because queries do not change a run.db; for other statements: "
        "cp {} copy.db && sqlite3 copy.db",
        run);
  }
  if (has("one statement at a time")) return "start xlatrace query separately for each statement";
  if (has("there is no statement") || has("syntax error") || has("incomplete input")) {
    return fmt::format("write one SELECT: xlatrace query {} \"SELECT * FROM launch LIMIT 10\"",
                       run);
  }
  if (has("ambiguous column name")) {
    return "write the view before the name of the column: device.name";
  }
  return {};
}

// Adds a hint where the sentence of SQLite has none.
Error Explained(Error error, const QueryOptions& options, store::RunDb& db) {
  if (error.message.find("time limit") != std::string::npos) {
    return Watchdog::TimeLimitError(options.time_limit_s);
  }
  if (error.message.find("out of memory") != std::string::npos) {
    error = Error{"the query needs more memory than its limit",
                  fmt::format("it was {} MB; narrow it with WHERE or LIMIT, or give more: "
                              "--memory-limit {}",
                              options.memory_limit_mb, options.memory_limit_mb * 4),
                  ErrorCode::kFailed};
  }
  if (error.hint.empty() && error.message.find("no such column") != std::string::npos) {
    const std::string table = FirstTable(options.sql);
    const std::vector<std::string> columns = ColumnNames(db, table);
    error.hint =
        NearestName(error, columns) +
        fmt::format("the columns of {}: {}; xlatrace query {} \"SELECT * FROM {} LIMIT 1\"", table,
                    fmt::join(columns, ", "), ShellWord(options.path), table);
  }
  if (error.hint.empty()) error.hint = RefusalHint(error.message, ShellWord(options.path));
  if (error.hint.empty()) {
    const bool no_table = error.message.find("no such table") != std::string::npos;
    error.hint = no_table ? NearestName(error, TableNames(db)) : "";
    error.hint += fmt::format(
        "the views: xlatrace query {} \"SELECT name FROM sqlite_master WHERE "
        "type='view'\"",
        ShellWord(options.path));
  }
  return error;
}

Result<int> RunQuery(QueryOptions options) {
  // The other way round is as clear.
  if (!Exists(options.path) && store::LooksLikeRunDb(options.sql)) {
    std::swap(options.sql, options.path);
  }
  XLATRACE_ASSIGN(const std::string run, FoldedRun(options.path));
  XLATRACE_ASSIGN(store::RunDb db, store::RunDb::Open(run));
  store::Database::SetMemoryLimit(options.memory_limit_mb * 1'000'000);
  const Watchdog watchdog(options.time_limit_s);
  db.SetTimeLimit(options.time_limit_s * 1000);
  auto statement = db.Prepare(options.sql);
  if (!statement)
    return tl::unexpected<Error>(Explained(std::move(statement).error(), options, db));
  if (statement->ParameterCount() > 0) {
    return tl::unexpected<Error>(Explained(
        Error{fmt::format("SQL: {} parameters have no value", statement->ParameterCount()),
              "write the values into the statement", ErrorCode::kFailed},
        options, db));
  }
  std::vector<std::string> columns;
  for (int i = 0; i < statement->ColumnCount(); ++i) {
    columns.emplace_back(statement->ColumnName(i));
  }
  const std::unique_ptr<QueryRows> rows = MakeQueryRows(options.format, std::move(columns));
  std::vector<store::Cell> cells;
  while (true) {
    const Result<bool> more = statement->Step();
    if (!more) {
      // The rows before the error are correct.
      XLATRACE_TRY(PrintResult(rows->Take()));
      return tl::unexpected<Error>(Explained(more.error(), options, db));
    }
    if (!*more) break;
    cells.clear();
    for (int i = 0; i < statement->ColumnCount(); ++i) cells.push_back(CellOf(*statement, i));
    rows->Add(cells);
    if (rows->pending_bytes() < kChunkBytes) continue;
    XLATRACE_TRY(PrintResult(rows->Take()));
    if (std::ferror(stdout) != 0) return 0;  // The reader closed the pipe.
  }
  rows->End();
  XLATRACE_TRY(PrintResult(rows->Take()));
  return 0;
}

}  // namespace

void AddQueryCommand(CLI::App& app, Command* selected) {
  auto options = std::make_shared<QueryOptions>();
  CLI::App* command =
      app.add_subcommand("query", "Run read-only SQL over the views of a run.db (docs/schema.md)");
  command->add_option("RUN", options->path, "A run.db, or the run.rec it comes from")->required();
  command->add_option("SQL", options->sql, "One SELECT statement")->required();
  command->add_option("--format", options->format, "table, csv or json")
      ->check(OneOf({"table", "csv", "json"}))
      ->capture_default_str();
  command->add_option("--time-limit", options->time_limit_s, "Seconds; 0 for none")
      ->type_name("SECONDS")
      ->check(CLI::Range(int64_t{0}, int64_t{1'000'000}))
      ->capture_default_str();
  command->add_option("--memory-limit", options->memory_limit_mb, "MB; 0 for none")
      ->type_name("MB")
      ->check(CLI::Range(int64_t{0}, int64_t{10'000'000}))
      ->capture_default_str();
  command->footer(
      "Example:\n  xlatrace query run.db \"SELECT phase, sum(self_ns) FROM op_time GROUP BY "
      "phase\"");
  command->callback([options, selected] { *selected = [options] { return RunQuery(*options); }; });
}

}  // namespace xlatrace::tools
