// SPDX-License-Identifier: Apache-2.0

// run.db for readers: opens a finished run and queries its public views (docs/schema.md).
//
// Rejects other files, newer versions, and files with another schema text, with a message. Views
// are SQL; report, summaries and `query` read them with Select.
//
// Thread-safety: one thread per RunDb.

#ifndef XLATRACE_STORE_RUN_DB_H_
#define XLATRACE_STORE_RUN_DB_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "model/events.h"
#include "store/sqlite.h"

namespace xlatrace::store {

// One value of a result: NULL, integer, real or text.
using Cell = std::variant<std::monostate, int64_t, double, std::string>;

struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows;

  // Position of a column. An unknown name is a programming error (aborts).
  size_t Column(std::string_view name) const;
  bool IsNull(size_t row, std::string_view column) const;
  int64_t Int(size_t row, std::string_view column, int64_t if_null = 0) const;
  double Real(size_t row, std::string_view column, double if_null = 0) const;
  std::string Text(size_t row, std::string_view column) const;  // NULL: "".
};

class RunDb {
 public:
  static Result<RunDb> Open(const std::string& path);

  // `sql` is one SELECT over the public views. Parameters bind to ?1, ?2...
  Result<Table> Select(std::string_view sql, std::initializer_list<Cell> parameters = {},
                       size_t max_rows = SIZE_MAX);
  // The same row by row, for results that do not fit into memory. The callback returns false to
  // stop.
  Status ForEach(std::string_view sql, const std::function<bool(const Statement&)>& row);

  // For readers that step through several statements in parallel, or bind one many times.
  Result<Statement> Prepare(std::string_view sql) { return database_.Prepare(sql); }

  // Value of a key of run_info.
  Result<std::optional<std::string>> Info(std::string_view key);

  // HLO of a module as stored: HloProto bytes or HLO text.
  struct ModuleBytes {
    model::ModuleBlob::Format format = model::ModuleBlob::Format::kHloProto;
    std::string bytes;
    std::string thunk_sequence;
    std::string thunk_metadata;
  };
  Result<ModuleBytes> ReadModule(model::Id module_id);

  // Stops each later statement after this wall time; 0: no limit.
  void SetTimeLimit(int64_t milliseconds);

  const std::string& path() const { return database_.path(); }

 private:
  explicit RunDb(Database database) : database_(std::move(database)) {}
  Database database_;
};

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_RUN_DB_H_
