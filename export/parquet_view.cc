#include "export/parquet_view.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <variant>

#include <fmt/format.h>

#include "export/parquet_file.h"

namespace xlatrace::exporter {
namespace {

using store::Statement;

// Columns with texts, for those that hold only NULL in the rows that decide. `value` is of
// run_info; a run_stat's is an integer, and no row of that is NULL.
constexpr std::string_view kTextColumns[] = {"action",
                                             "advice",
                                             "assumptions",
                                             "basis",
                                             "bound_by",
                                             "category",
                                             "cause",
                                             "command",
                                             "compute_capability",
                                             "compute_type",
                                             "computation",
                                             "confidence",
                                             "copy_kind",
                                             "domain",
                                             "ended",
                                             "evidence",
                                             "file",
                                             "fingerprint",
                                             "framework_function",
                                             "fusion_kind",
                                             "gpu",
                                             "handle",
                                             "host",
                                             "how",
                                             "how_to_check",
                                             "id",
                                             "instruction",
                                             "jaxlib_version",
                                             "job_answer",
                                             "job_cause",
                                             "kernel_name",
                                             "kernel_symbol",
                                             "key",
                                             "kind",
                                             "layer",
                                             "layer_group",
                                             "losing_evidence",
                                             "module",
                                             "name",
                                             "occupancy_limiter",
                                             "op",
                                             "op_kind",
                                             "op_name",
                                             "op_name_method",
                                             "op_type",
                                             "opcode",
                                             "operands",
                                             "origin",
                                             "part",
                                             "peak_flops",
                                             "peaks_source",
                                             "phase",
                                             "program",
                                             "role",
                                             "role_reason",
                                             "run_id",
                                             "sentence",
                                             "severity",
                                             "shape",
                                             "source",
                                             "source_file",
                                             "tensorflow_version",
                                             "text",
                                             "title",
                                             "tool_version",
                                             "unattributed_reason",
                                             "uuid",
                                             "value",
                                             "verdict",
                                             "where_layer",
                                             "where_op",
                                             "where_source",
                                             "why_ended",
                                             "withheld"};

ParquetType TypeByName(std::string_view name) {
  if (std::find(std::begin(kTextColumns), std::end(kTextColumns), name) != std::end(kTextColumns)) {
    return ParquetType::kText;
  }
  return name.ends_with("_pct") || name == "share" || name == "waves" ? ParquetType::kDouble
                                                                      : ParquetType::kInt64;
}

// One view as a file. The first rows decide the types of columns, since a view declares none.
class ViewWriter {
 public:
  ViewWriter(std::string view, AtomicFile& file) : view_(std::move(view)), file_(file) {}

  Status Add(const Statement& row) {
    if (!parquet_) {
      first_.emplace_back();
      for (int i = 0; i < row.ColumnCount(); ++i) first_.back().push_back(CellOf(row, i));
      return first_.size() < kDeciding ? Status() : Begin();
    }
    for (int i = 0; i < row.ColumnCount(); ++i) {
      XLATRACE_TRY(AddCell(row, i));
    }
    return parquet_->EndRow();
  }

  void SetColumns(const Statement& row) {
    for (int i = 0; i < row.ColumnCount(); ++i) names_.emplace_back(row.ColumnName(i));
  }

  Status Finish(const std::vector<std::pair<std::string, std::string>>& facts) {
    if (!parquet_) XLATRACE_TRY(Begin());
    return parquet_->Finish(facts);
  }

 private:
  static constexpr size_t kDeciding = 20'000;

  static store::Cell CellOf(const Statement& row, int column) {
    switch (row.ColumnType(column)) {
      case Statement::Type::kNull:
        return {};
      case Statement::Type::kInteger:
        return row.Int64(column);
      case Statement::Type::kReal:
        return row.Real(column);
      default:
        return std::string(row.Text(column));
    }
  }

  Status Begin() {
    std::vector<std::pair<std::string, ParquetType>> columns;
    for (size_t i = 0; i < names_.size(); ++i) {
      std::optional<ParquetType> type;
      for (const auto& cells : first_) {
        if (std::holds_alternative<std::string>(cells[i])) type = ParquetType::kText;
        if (std::holds_alternative<double>(cells[i]) && type != ParquetType::kText) {
          type = ParquetType::kDouble;
        }
        if (std::holds_alternative<int64_t>(cells[i]) && !type) type = ParquetType::kInt64;
      }
      types_.push_back(type.value_or(TypeByName(names_[i])));
      columns.emplace_back(names_[i], types_.back());
    }
    parquet_.emplace(file_, std::move(columns));
    for (const auto& cells : first_) {
      for (size_t i = 0; i < cells.size(); ++i) XLATRACE_TRY(AddCell(cells[i], i));
      XLATRACE_TRY(parquet_->EndRow());
    }
    first_.clear();
    return {};
  }

  Status AddCell(const Statement& row, int column) {
    const auto at = static_cast<size_t>(column);
    const Statement::Type type = row.ColumnType(column);
    if (type == Statement::Type::kNull) {
      parquet_->AddNull(at);
    } else if (types_[at] == ParquetType::kText) {
      parquet_->AddText(at, row.Text(column));
    } else if (types_[at] == ParquetType::kDouble) {
      parquet_->AddReal(at, row.Real(column));
    } else if (type == Statement::Type::kInteger) {
      parquet_->AddInt(at, row.Int64(column));
    } else {
      return Mixed(at);
    }
    return {};
  }

  Status AddCell(const store::Cell& cell, size_t at) {
    if (std::holds_alternative<std::monostate>(cell)) {
      parquet_->AddNull(at);
    } else if (const auto* text = std::get_if<std::string>(&cell)) {
      parquet_->AddText(at, *text);
    } else if (types_[at] == ParquetType::kText) {
      const auto* integer = std::get_if<int64_t>(&cell);
      parquet_->AddText(at, integer != nullptr ? std::to_string(*integer)
                                               : fmt::format("{}", std::get<double>(cell)));
    } else if (const auto* integer = std::get_if<int64_t>(&cell)) {
      if (types_[at] == ParquetType::kDouble) {
        parquet_->AddReal(at, static_cast<double>(*integer));
      } else {
        parquet_->AddInt(at, *integer);
      }
    } else {
      parquet_->AddReal(at, std::get<double>(cell));
    }
    return {};
  }

  Status Mixed(size_t at) const {
    return MakeError(fmt::format("the column {}.{} holds integers and others", view_, names_[at]),
                     "--to csv has no types");
  }

  std::string view_;
  AtomicFile& file_;
  std::vector<std::string> names_;
  std::vector<ParquetType> types_;
  std::vector<std::vector<store::Cell>> first_;
  std::optional<ParquetFile> parquet_;
};

}  // namespace

Result<int64_t> WriteParquetView(const std::string& view, Statement rows,
                                 const std::vector<std::pair<std::string, std::string>>& facts,
                                 const std::function<void()>& told, AtomicFile& file) {
  ViewWriter writer(view, file);
  writer.SetColumns(rows);
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
