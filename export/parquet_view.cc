// SPDX-License-Identifier: Apache-2.0
#include "export/parquet_view.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "export/parquet_file.h"

namespace xlatrace::exporter {
namespace {

using store::Statement;

// Columns whose values are texts. A test checks every column of the contract, so that a new one is
// not forgotten.
constexpr std::string_view kTextColumns[] = {"action",
                                             "advice",
                                             "after",
                                             "assumptions",
                                             "basis",
                                             "before",
                                             "bound_by",
                                             "category",
                                             "cause",
                                             "command",
                                             "computation",
                                             "compute_capability",
                                             "compute_type",
                                             "confidence",
                                             "copy_kind",
                                             "domain",
                                             "ended",
                                             "evidence",
                                             "figure",
                                             "file",
                                             "fingerprint",
                                             "first_use",
                                             "framework_function",
                                             "from_instruction",
                                             "from_program",
                                             "function",
                                             "function_file",
                                             "fusion_kind",
                                             "gpu",
                                             "handle",
                                             "headline",
                                             "host",
                                             "how",
                                             "how_to_check",
                                             "id",
                                             "instruction",
                                             "jaxlib_version",
                                             "job_answer",
                                             "job_cause",
                                             "job_waited_for",
                                             "kernel_name",
                                             "kernel_symbol",
                                             "key",
                                             "kind",
                                             "last_use",
                                             "layer",
                                             "layer_group",
                                             "library_file",
                                             "losing_evidence",
                                             "memory_space",
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
                                             "owner",
                                             "part",
                                             "peak_flops",
                                             "peaks_source",
                                             "phase",
                                             "program",
                                             "reason",
                                             "role",
                                             "role_reason",
                                             "run_id",
                                             "sentence",
                                             "severity",
                                             "shape",
                                             "shape_index",
                                             "source",
                                             "source_file",
                                             "stage",
                                             "state",
                                             "tensorflow_version",
                                             "text",
                                             "title",
                                             "to_instruction",
                                             "to_program",
                                             "tool_version",
                                             "unattributed_reason",
                                             "uuid",
                                             "value",
                                             "verdict",
                                             "what",
                                             "where_layer",
                                             "where_op",
                                             "where_source",
                                             "why_ended",
                                             "withheld",
                                             "work"};

ParquetType TypeOf(std::string_view view, std::string_view name) {
  // Counts here; texts in run_info, which has the other column of this name.
  if ((view == "run_stat" || view == "compile_detail") && name == "value") {
    return ParquetType::kInt64;
  }
  if (std::find(std::begin(kTextColumns), std::end(kTextColumns), name) != std::end(kTextColumns)) {
    return ParquetType::kText;
  }
  return name.ends_with("_pct") || name == "share" || name == "waves" ? ParquetType::kDouble
                                                                      : ParquetType::kInt64;
}

class ViewWriter {
 public:
  ViewWriter(std::string view, const Statement& row, AtomicFile& file) : view_(std::move(view)) {
    std::vector<std::pair<std::string, ParquetType>> columns;
    for (int i = 0; i < row.ColumnCount(); ++i) {
      types_.push_back(TypeOf(view_, row.ColumnName(i)));
      columns.emplace_back(row.ColumnName(i), types_.back());
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

Result<int64_t> WriteParquetView(const std::string& view, Statement rows,
                                 const std::vector<std::pair<std::string, std::string>>& facts,
                                 const std::function<void()>& told, AtomicFile& file) {
  ViewWriter writer(view, rows, file);
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
