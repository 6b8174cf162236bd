// SPDX-License-Identifier: Apache-2.0
#include "tools/secret_scan.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/secrets.h"
#include "store/run_db.h"

namespace xlatrace::tools {
namespace {

constexpr size_t kContextBytes = 40;  // Bytes printed on either side of a secret.

class Scanner {
 public:
  void Look(std::string_view table, std::string_view column, int64_t row, std::string_view text) {
    const std::vector<SecretPlace> places = FindSecrets(text);
    size_t before = 0;
    for (size_t i = 0; i < places.size(); ++i) {
      const SecretPlace& place = places[i];
      // Up to the neighbours, which are secrets too.
      const size_t from = std::max(before, place.begin - std::min(place.begin, kContextBytes));
      const size_t next = i + 1 < places.size() ? places[i + 1].begin : text.size();
      const size_t to = std::min(next, place.end + kContextBytes);
      found_.push_back({std::string(table), std::string(column), row, std::string(place.kind),
                        fmt::format("{}{}{}", text.substr(from, place.begin - from), kSecretMask,
                                    text.substr(place.end, to - place.end))});
      before = place.end;
    }
  }

  std::vector<SecretFound> Take() { return std::move(found_); }

 private:
  std::vector<SecretFound> found_;
};

Status ScanTable(store::RunDb& db, const std::string& table, Scanner& scanner) {
  auto with_rowid = db.Prepare(fmt::format("SELECT rowid, * FROM \"{}\"", table));
  const bool has_rowid = with_rowid.has_value();
  if (!has_rowid) with_rowid = db.Prepare(fmt::format("SELECT NULL, * FROM \"{}\"", table));
  XLATRACE_ASSIGN(store::Statement rows, std::move(with_rowid));
  const bool of_names = table == "x_run_info";
  for (int64_t number = 1;; ++number) {
    XLATRACE_ASSIGN(const bool more, rows.Step());
    if (!more) return {};
    const int64_t row = has_rowid ? rows.Int64(0) : number;
    for (int column = 1; column < rows.ColumnCount(); ++column) {
      if (rows.ColumnType(column) != store::Statement::Type::kText) continue;
      // The name of a fact may show that its value is a secret.
      if (of_names && column == 2) {
        scanner.Look(table, rows.ColumnName(column), row,
                     fmt::format("{}={}", rows.Text(1), rows.Text(2)));
      } else {
        scanner.Look(table, rows.ColumnName(column), row, rows.Text(column));
      }
    }
  }
}

}  // namespace

Result<std::vector<SecretFound>> ScanForSecrets(const std::string& path) {
  XLATRACE_ASSIGN(store::RunDb db, store::RunDb::Open(path));
  std::vector<std::string> tables;
  std::vector<int64_t> modules;
  {
    XLATRACE_ASSIGN(store::Statement names,
                    db.Prepare("SELECT name FROM sqlite_master WHERE type = 'table'"
                               " AND name LIKE 'x\\_%' ESCAPE '\\' ORDER BY name"));
    for (;;) {
      XLATRACE_ASSIGN(const bool more, names.Step());
      if (!more) break;
      tables.emplace_back(names.Text(0));
    }
    XLATRACE_ASSIGN(store::Statement ids,
                    db.Prepare("SELECT module_id FROM x_module WHERE hlo IS NOT NULL"));
    for (;;) {
      XLATRACE_ASSIGN(const bool more, ids.Step());
      if (!more) break;
      modules.push_back(ids.Int64(0));
    }
  }
  Scanner scanner;
  for (const std::string& table : tables) XLATRACE_TRY(ScanTable(db, table, scanner));
  for (const int64_t id : modules) {
    XLATRACE_ASSIGN(const store::RunDb::ModuleBytes module, db.ReadModule(id));
    scanner.Look("x_module", "hlo", id, module.bytes);
    scanner.Look("x_module", "thunk_sequence", id, module.thunk_sequence);
    scanner.Look("x_module", "thunk_metadata", id, module.thunk_metadata);
  }
  return scanner.Take();
}

}  // namespace xlatrace::tools
