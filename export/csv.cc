// SPDX-License-Identifier: Apache-2.0
#include "export/csv.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/csv.h"
#include "export/export_format.h"
#include "export/exported_views.h"

namespace xlatrace::exporter {
namespace {

using store::Statement;

constexpr int64_t kCsvRowsPerProgress = 1 << 16;

void AppendCell(std::string& line, const Statement& row, int column) {
  switch (row.ColumnType(column)) {
    case Statement::Type::kNull:
      break;
    case Statement::Type::kInteger:
      fmt::format_to(std::back_inserter(line), "{}", row.Int64(column));
      break;
    case Statement::Type::kReal:
      fmt::format_to(std::back_inserter(line), "{}", row.Real(column));
      break;
    default:
      line += CsvText(row.Text(column));
  }
}

}  // namespace

Result<ExportCount> WriteCsv(store::RunDb& db, const ExportRequest& request) {
  XLATRACE_ASSIGN(const RunRows run, RunRows::Load(db, {}, request.selection));
  XLATRACE_ASSIGN(const auto views, ExportedViews(db, request.views));
  XLATRACE_ASSIGN(OutputFolder folder, OutputFolder::Create(request.output, request.force));
  ExportCount count;
  for (const std::string& view : views) {
    XLATRACE_ASSIGN(AtomicFile file, folder.Open(view + ".csv"));
    XLATRACE_ASSIGN(Statement row, PrepareView(db, view, request.selection));
    std::string line;
    for (int i = 0; i < row.ColumnCount(); ++i) {
      line.append(i == 0 ? "" : ",").append(row.ColumnName(i));
    }
    XLATRACE_TRY(file.Append(line + "\r\n"));
    while (true) {
      XLATRACE_ASSIGN(const bool more, row.Step());
      if (!more) break;
      line.clear();
      for (int i = 0; i < row.ColumnCount(); ++i) {
        if (i != 0) line += ',';
        AppendCell(line, row, i);
      }
      XLATRACE_TRY(file.Append(line += "\r\n"));
      if (++count.rows % kCsvRowsPerProgress == 0 && request.progress)
        request.progress(count.rows, 0);
    }
    XLATRACE_TRY(folder.Close(std::move(file)));
  }
  count.files = static_cast<int64_t>(folder.file_count());
  XLATRACE_TRY(folder.Commit());
  return count;
}

}  // namespace xlatrace::exporter
