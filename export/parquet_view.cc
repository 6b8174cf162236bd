#include "export/parquet_view.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "export/parquet_file.h"

namespace xlatrace::exporter {
namespace {

using store::Statement;

// Columns that views compute and whose values are texts. Tests ask this of every column of the
// contract, so that a new one is not forgotten.
constexpr std::string_view kTextColumns[] = {"cause",
                                             "compute_capability",
                                             "confidence",
                                             "copy_kind",
                                             "ended",
                                             "evidence",
                                             "fingerprint",
                                             "gpu",
                                             "handle",
                                             "host",
                                             "how",
                                             "instruction",
                                             "jaxlib_version",
                                             "job_answer",
                                             "job_cause",
                                             "kind",
                                             "layer",
                                             "layer_group",
                                             "name",
                                             "op_kind",
                                             "op_name",
                                             "op_name_method",
                                             "op_type",
                                             "origin",
                                             "part",
                                             "phase",
                                             "program",
                                             "role",
                                             "run_id",
                                             "severity",
                                             "source",
                                             "source_file",
                                             "tool_version",
                                             "tensorflow_version",
                                             "unattributed_reason",
                                             "verdict",
                                             "why_ended"};

ParquetType TypeByName(std::string_view name) {
  if (std::find(std::begin(kTextColumns), std::end(kTextColumns), name) != std::end(kTextColumns)) {
    return ParquetType::kText;
  }
  return name.ends_with("_pct") || name == "share" || name == "waves" ? ParquetType::kDouble
                                                                      : ParquetType::kInt64;
}

// What the schema declares of a view's columns; empty for one that is computed.
Result<std::map<std::string, std::string, std::less<>>> DeclaredTypes(store::RunDb& db,
                                                                      const std::string& view) {
  XLATRACE_ASSIGN(Statement columns, db.Prepare("SELECT name, type FROM pragma_table_info(?1)"));
  columns.BindText(0, view);
  std::map<std::string, std::string, std::less<>> types;
  while (true) {
    XLATRACE_ASSIGN(const bool more, columns.Step());
    if (!more) return types;
    types.emplace(columns.Text(0), columns.Text(1));
  }
}

class ViewWriter {
 public:
  ViewWriter(std::string view, const Statement& row,
             const std::map<std::string, std::string, std::less<>>& declared, AtomicFile& file)
      : view_(std::move(view)) {
    std::vector<std::pair<std::string, ParquetType>> columns;
    for (int i = 0; i < row.ColumnCount(); ++i) {
      const std::string name(row.ColumnName(i));
      const auto known = declared.find(name);
      const std::string_view type = known == declared.end() ? "" : std::string_view(known->second);
      types_.push_back(type.starts_with("TEXT")   ? ParquetType::kText
                       : type.starts_with("INT")  ? ParquetType::kInt64
                       : type.starts_with("REAL") ? ParquetType::kDouble
                                                  : TypeByName(name));
      columns.emplace_back(name, types_.back());
    }
    parquet_.emplace(file, std::move(columns));
  }

  Status Add(const Statement& row) {
    for (int i = 0; i < row.ColumnCount(); ++i) XLATRACE_TRY(AddCell(row, i));
    return parquet_->EndRow();
  }

  Status Finish(const std::vector<std::pair<std::string, std::string>>& facts) {
    return parquet_->Finish(facts);
  }

 private:
  Status AddCell(const Statement& row, int column) {
    const auto at = static_cast<size_t>(column);
    const Statement::Type type = row.ColumnType(column);
    const bool number = type == Statement::Type::kInteger || type == Statement::Type::kReal;
    if (type == Statement::Type::kNull) {
      parquet_->AddNull(at);
    } else if (types_[at] == ParquetType::kText) {
      parquet_->AddText(at, row.Text(column));
    } else if (types_[at] == ParquetType::kDouble && number) {
      parquet_->AddReal(at, row.Real(column));
    } else if (types_[at] == ParquetType::kInt64 && type == Statement::Type::kInteger) {
      parquet_->AddInt(at, row.Int64(column));
    } else {
      return MakeError(fmt::format("the column {}.{} holds something that is no {}", view_,
                                   row.ColumnName(column),
                                   types_[at] == ParquetType::kInt64 ? "integer" : "number"),
                       "--to csv has no types");
    }
    return {};
  }

  std::string view_;
  std::vector<ParquetType> types_;
  std::optional<ParquetFile> parquet_;
};

}  // namespace

Result<int64_t> WriteParquetView(store::RunDb& db, const std::string& view, Statement rows,
                                 const std::vector<std::pair<std::string, std::string>>& facts,
                                 const std::function<void()>& told, AtomicFile& file) {
  XLATRACE_ASSIGN(const auto declared, DeclaredTypes(db, view));
  ViewWriter writer(view, rows, declared, file);
  int64_t count = 0;
  while (true) {
    XLATRACE_ASSIGN(const bool more, rows.Step());
    if (!more) break;
    XLATRACE_TRY(writer.Add(rows));
    ++count;
    if (told) told();
  }
  XLATRACE_TRY(writer.Finish(facts));
  return count;
}

}  // namespace xlatrace::exporter
